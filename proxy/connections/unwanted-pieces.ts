import type { IncomingMessage } from 'node:http';
import { dropUnparsed } from './drop-unparsed.ts';
import { type NodeParser, ON_BODY, parserOf } from './node-parser.ts';

interface UnwantedBody {
  /** Whether no more of its connection is to be parsed, after a piece of so many bytes. */
  readonly isTooMuch: (bytes: number) => boolean;
  /** Nothing more is parsed. */
  readonly onDropped: () => void;
}

const unwanted = new WeakMap<IncomingMessage, UnwantedBody>();
/** Those at which it is looked whose pieces they make: for as long as they live, for several bodies of one connection may be unwanted at once. */
const watched = new WeakSet<NodeParser>();

/**
 * Drops the pieces of a body that nobody reads as they are parsed, also those that came with its head. Once they are too
 * much nothing more of the connection is parsed, not even what came in the same packet.
 * @returns ends it: the pieces are the request's again
 */
export function dropPieces(request: IncomingMessage, body: UnwantedBody): () => void {
  const parser = parserOf(request.socket);
  if (parser === null) return () => undefined;
  watch(parser);
  unwanted.set(request, body);
  request.resume();
  return () => unwanted.delete(request);
}

function watch(parser: NodeParser): void {
  const onBody = parser[ON_BODY];
  if (onBody === null || watched.has(parser)) return;
  watched.add(parser);
  parser[ON_BODY] = (piece) => {
    const request = parser.incoming;
    const body = request === null ? undefined : unwanted.get(request);
    if (request === null || body === undefined) {
      onBody.call(parser, piece);
    } else if (body.isTooMuch(piece.length)) {
      unwanted.delete(request);
      body.onDropped();
      dropUnparsed(request.socket);
    }
  };
}

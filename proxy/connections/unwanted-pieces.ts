import type { IncomingMessage } from 'node:http';
import { dropUnparsed } from './drop-unparsed.ts';
import { type NodeParser, ON_BODY, parserOf } from './node-parser.ts';

interface UnwantedBody {
  /** Asked at each of its pieces, of which none is made: whether no more of its connection is to be parsed. It must not throw. */
  readonly isTooMuch: () => boolean;
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

/**
 * Node looks for each piece who takes it, and makes none where nobody does. One that is made is 64 KiB that V8 collects when it
 * comes to it: where many bodies come at once, and the machine has no time for that, hundreds of megabytes.
 */
function watch(parser: NodeParser): void {
  if (watched.has(parser)) return;
  watched.add(parser);
  let onBody = parser[ON_BODY];
  const taker = (): NodeParser[typeof ON_BODY] => {
    const request = parser.incoming;
    const body = request === null ? undefined : unwanted.get(request);
    if (request === null || body === undefined) return onBody;
    return body.isTooMuch() ? () => leave(request, body) : null;
  };
  const set = (next: typeof onBody): void => {
    onBody = next;
  };
  Object.defineProperty(parser, ON_BODY, { get: taker, set, enumerable: true, configurable: true });
}

function leave(request: IncomingMessage, body: UnwantedBody): void {
  unwanted.delete(request);
  body.onDropped();
  dropUnparsed(request.socket);
}

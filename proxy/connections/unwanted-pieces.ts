import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { dropUnparsed } from './drop-unparsed.ts';

export interface UnwantedBody {
  /** Whether no more of its connection is to be parsed, after a piece of so many bytes. */
  readonly isTooMuch: (bytes: number) => boolean;
  /** Nothing more is parsed. */
  readonly onDropped: () => void;
}

/** Node's own: its parser calls what stands here with each piece of a body, and makes no piece of it where nothing does. */
const ON_BODY = 3;
/** The same with the head of each request. */
const ON_HEAD = 2;
type OnBody = (this: Parser, piece: Buffer) => void;
interface Parser {
  readonly incoming: IncomingMessage | null;
  [ON_HEAD]: unknown;
  [ON_BODY]: OnBody | null;
}

/**
 * Drops the pieces of a body that nobody reads as they are parsed, also those that came with its head. Once they are too
 * much nothing more of the connection is parsed, not even what came in the same packet.
 * @returns ends it: the pieces are the request's again
 */
export function dropPieces(request: IncomingMessage, { isTooMuch, onDropped }: UnwantedBody): () => void {
  const parser = parserOf(request.socket);
  const onBody = parser?.[ON_BODY] ?? null;
  if (parser === null || onBody === null) return () => undefined;
  const giveBack = (): void => {
    if (parser[ON_BODY] === look) parser[ON_BODY] = onBody;
  };
  const look: OnBody = (piece) => {
    if (parser.incoming !== request) {
      // The parser has come to the next request, be it that of another connection.
      giveBack();
      onBody.call(parser, piece);
    } else if (isTooMuch(piece.length)) {
      ignoreRest(parser, onBody);
      onDropped();
      dropUnparsed(request.socket);
    }
  };
  parser[ON_BODY] = look;
  request.resume();
  return giveBack;
}

/** Of the packet that the parser is at. Parsers are used again, by when this is undone: a parser is given back no sooner. */
function ignoreRest(parser: Parser, onBody: OnBody): void {
  const onHead = parser[ON_HEAD];
  parser[ON_HEAD] = null;
  parser[ON_BODY] = null;
  setImmediate(() => {
    parser[ON_HEAD] = onHead;
    parser[ON_BODY] = onBody;
  });
}

/** Null where the connection is closed. */
const parserOf = (socket: Socket): Parser | null => (socket as Socket & { readonly parser?: Parser }).parser ?? null;

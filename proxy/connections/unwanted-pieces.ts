import type { IncomingMessage } from 'node:http';
import { dropUnparsed } from './drop-unparsed.ts';
import { ON_BODY, type OnBody, parserOf } from './node-parser.ts';

export interface UnwantedBody {
  /** Whether no more of its connection is to be parsed, after a piece of so many bytes. */
  readonly isTooMuch: (bytes: number) => boolean;
  /** Nothing more is parsed. */
  readonly onDropped: () => void;
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
      giveBack();
      onDropped();
      dropUnparsed(request.socket);
    }
  };
  parser[ON_BODY] = look;
  request.resume();
  return giveBack;
}

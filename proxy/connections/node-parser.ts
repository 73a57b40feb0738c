import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Node's own: its parser calls what stands here with each piece of a body, and makes no piece of it where nothing does. */
export const ON_BODY = 3;
/** The same with the head of each request. */
export const ON_HEAD = 2;
/** The same behind each read of the connection, whatever came of it. */
export const ON_READ = 5;
type OnBody = (this: NodeParser, piece: Buffer) => void;

/** The HTTP parser that Node has at a connection. Bodies and reads go through these callbacks alone; there is no public way to leave one unmade, or to be told of what nothing comes of. */
export interface NodeParser {
  readonly incoming: IncomingMessage | null;
  [ON_HEAD]: unknown;
  [ON_BODY]: OnBody | null;
  [ON_READ]: ((this: NodeParser, result: unknown) => void) | null;
}

/** Null where the connection is closed. */
export const parserOf = (socket: Socket): NodeParser | null =>
  (socket as Socket & { readonly parser?: NodeParser }).parser ?? null;

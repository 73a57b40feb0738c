import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Node's own: its parser calls what stands here with each piece of a body, and makes no piece of it where nothing does. */
export const ON_BODY = 3;
/** The same with the head of each request. */
export const ON_HEAD = 2;
type OnBody = (this: NodeParser, piece: Buffer) => void;

/** The HTTP parser that Node has at a connection. Bodies go through these callbacks alone; there is no public way to leave one unmade. */
export interface NodeParser {
  readonly incoming: IncomingMessage | null;
  [ON_HEAD]: unknown;
  [ON_BODY]: OnBody | null;
}

/** Null where the connection is closed. */
export const parserOf = (socket: Socket): NodeParser | null =>
  (socket as Socket & { readonly parser?: NodeParser }).parser ?? null;

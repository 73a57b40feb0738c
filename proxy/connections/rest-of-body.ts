import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LIMITS } from '../../contracts/limits.ts';
import { makeLast } from './last-answer.ts';
import { UnmadePieces } from './unmade-pieces.ts';
import { dropPieces } from './unwanted-pieces.ts';

export interface RestBounds {
  readonly bytesMax: number;
  readonly ms: number;
}

const BOUNDS: RestBounds = { bytesMax: LIMITS.restOfBodyBytesMax, ms: LIMITS.restOfBodyMs };

/**
 * Reads on, and drops, what is still to come of a body whose request has been answered: many clients read nothing before they have
 * sent everything, and one whose connection is closed meanwhile never sees the answer. What has no end is cut at a bound; what comes in crumbs is
 * parsed no more, and the connection has no next request.
 */
export function readOnAfterAnswers(app: FastifyInstance, bounds = BOUNDS): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (mayHaveMore(request)) {
      if (reply.raw.socket !== null) readOn(request.raw, bounds);
      else readOnInTurn(request.raw, reply.raw, bounds);
    }
    done();
  });
}

function readOnInTurn(request: IncomingMessage, response: ServerResponse, bounds: RestBounds): void {
  dropInTurn(request, response, bounds);
  response.once('socket', () => {
    if (!request.complete) readOn(request, bounds);
  });
}

/** A request without a body, too, is answered before Node takes it for complete. */
export function mayHaveMore({ raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return hasBody && !raw.complete;
}

/**
 * The body of a request whose answer waits for those before it, and that nobody reads: until its turn it is dropped as it
 * comes, and the connection, which others have, is not cut for it; past the bound of bytes, or where it comes in crumbs, it is
 * parsed no more, and this answer is the last.
 */
export function dropInTurn(request: IncomingMessage, response: ServerResponse, { bytesMax } = BOUNDS): void {
  const pieces = new UnmadePieces(request.socket);
  const isTooMuch = (): boolean => pieces.add() || pieces.bytes > bytesMax;
  response.once('socket', dropPieces(request, { isTooMuch, onDropped: () => makeLast(response) }));
}

function readOn(request: IncomingMessage, { bytesMax, ms }: RestBounds): void {
  const { socket } = request;
  const closeNow = socket.destroySoon.bind(socket);
  let isLast = false;
  let isDropped = false;
  let isOver = false;
  const pieces = new UnmadePieces(socket);
  let timer: NodeJS.Timeout | null = null;
  // What Node does behind the last answer of a connection: it would reset what the client is still sending.
  socket.destroySoon = () => {
    isLast = true;
    socket.end();
  };
  const isTooMuch = (): boolean => {
    // Not in the middle of its parser's work, but before the next read.
    if (pieces.bytes > bytesMax) process.nextTick(() => socket.destroy());
    return pieces.add();
  };
  const onDropped = (): void => {
    isLast = true;
    isDropped = true;
    socket.end();
  };
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    if (timer !== null) clearTimeout(timer);
    giveBack();
    socket.off('close', over);
    if (isDropped) {
      // Also where its end was in the packet that was too much: it goes on as drop-unparsed.ts has it.
      socket.destroySoon();
      return;
    }
    socket.destroySoon = closeNow;
    if (isLast) closeNow();
  };
  const giveBack = dropPieces(request, { isTooMuch, onDropped });
  request.once('end', over);
  request.once('close', over);
  // Node has taken an answered request off its list, and tells it nothing of its connection any more.
  socket.once('close', over);
  // A short body is most often there already.
  setImmediate(() => {
    if (!isOver) timer = setTimeout(() => socket.destroy(), ms);
  });
}

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Lets a connection's requests go upstream one after another. HTTP lets a client send the next before it has the answer
 * to the last (RFC 9112, section 9.3.2). Were they all under way, their answers would wait behind the first, Node would
 * stop reading the connection, and nobody would see that the client has left. A body that waits has been read, so that
 * this is seen while one waits; what has no client any more is left lying.
 */
export function inTurn() {
  const last = new WeakMap<Socket, ServerResponse>();
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { socket } = request.raw;
    const before = last.get(socket);
    last.set(socket, reply.raw);
    if (before === undefined || before.writableFinished || before.closed) {
      done();
      return;
    }
    before.once('close', () => {
      if (socket.destroyed) reply.hijack();
      else done();
    });
  };
}

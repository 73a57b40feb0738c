import { type IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../contracts/limits.ts';

/**
 * Who asks for a tunnel (CONNECT) is answered as for anything else that is not there, and the connection is closed behind it:
 * Node takes it from its server for the tunnel, and closes it without a word where nobody listens. So it is closed still
 * where answers to requests before it are under way.
 */
export function answerTunnels(app: FastifyInstance): void {
  app.server.on('connect', (request: IncomingMessage, socket) => {
    if (!(socket instanceof Socket) || isAnswering(socket)) {
      socket.destroy();
      return;
    }
    // Node has taken its own listeners off, and with them all that bounds a connection: nothing more of it is read, and it is not kept for one that does not read.
    socket.on('error', () => socket.destroy());
    socket.setTimeout(LIMITS.restOfBodyMs, () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    app.routing(request, response);
  });
}

/** By Node's own mark. */
const isAnswering = (socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean =>
  (socket._httpMessage ?? null) !== null;

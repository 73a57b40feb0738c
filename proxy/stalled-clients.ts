import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/**
 * Cuts the connection of a client that takes no byte of what waits for it, whatever answer that is of: it has left. The
 * time is that of Fastify's `connectionTimeout`, which Node begins anew whenever a byte comes or goes; an upstream that is
 * silent for as long leaves nothing waiting, and is none of the client's doing.
 */
export function cutStalledClients(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.raw.on('timeout', cutIfStalled);
    done();
  });
}

function cutIfStalled(this: ServerResponse): void {
  if (this.socket !== null && this.socket.writableLength > 0) this.destroy();
}

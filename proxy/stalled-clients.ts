import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { openConnections } from './connections/open-connections.ts';

/** As often is a connection looked at before it is cut: a gateway that itself stood still has looked once meanwhile. */
const LOOKS = 4;

interface SeenProgress {
  readonly taken: string;
  /** Looks in a row at which it had taken nothing since the one before. */
  readonly idleLooks: number;
}

/**
 * Cuts the connection of a client that takes no byte of what waits for it, whatever answer that is of: it has left. What it
 * sends meanwhile is no sign that it reads. An upstream that is silent for as long leaves nothing waiting, and is none of
 * the client's doing.
 *
 * @param stallMs after which it is cut, and at the latest a half more
 */
export function cutStalledClients(app: FastifyInstance, stallMs: number): void {
  const connections = openConnections(app.server);
  const seen = new WeakMap<Socket, SeenProgress>();
  const looks = setInterval(() => {
    for (const connection of connections) {
      const progress = progressOf(connection, seen.get(connection));
      seen.set(connection, progress);
      if (progress.idleLooks >= LOOKS) connection.destroy();
    }
  }, stallMs / LOOKS);
  looks.unref();
  app.server.once('close', () => clearInterval(looks));
}

function progressOf(connection: Socket, before?: SeenProgress): SeenProgress {
  const taken = takenOf(connection);
  if (before === undefined || connection.writableLength === 0 || taken !== before.taken) return { taken, idleLooks: 0 };
  return { taken, idleLooks: before.idleLooks + 1 };
}

interface WithHandle {
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

/**
 * What changes when the client takes something, and only then: the bytes of writes that are done, and of the one that is
 * under way what is left. Node shows the latter to nobody, though its own time-outs go by it; without it, who reads a long
 * answer slowly would be cut in the middle of one write.
 */
function takenOf(connection: Socket): string {
  const { bytesWritten, writableLength } = connection;
  return `${bytesWritten - writableLength}/${(connection as WithHandle)._handle?.writeQueueSize ?? 0}`;
}

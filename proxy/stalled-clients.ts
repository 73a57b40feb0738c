import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { PassingMap } from '../contracts/passing-map.ts';

/** As often is a connection looked at before it is cut: a gateway that itself stood still has looked once meanwhile. */
const LOOKS = 4;

interface SeenProgress {
  readonly connection: Socket;
  taken: string;
  /** Looks in a row at which it had taken nothing since the one before. */
  idleLooks: number;
}

/**
 * Cuts the connection of a client that takes no byte of what waits for it, whatever answer that is of: it has left. What it
 * sends meanwhile is no sign that it reads. An upstream that is silent for as long leaves nothing waiting, and is none of
 * the client's doing.
 *
 * @param stallMs after which it is cut, and at the latest a half more
 */
export function cutStalledClients(app: FastifyInstance, stallMs: number): void {
  const connections = new PassingMap<number, SeenProgress>();
  let came = 0;
  app.server.on('connection', (connection: Socket) => {
    const number = ++came;
    connections.set(number, { connection, taken: '', idleLooks: 0 });
    connection.once('close', () => connections.delete(number));
  });
  const looks = setInterval(() => {
    for (const seen of connections) if (hasStalled(seen)) seen.connection.destroy();
  }, stallMs / LOOKS);
  looks.unref();
  app.server.once('close', () => clearInterval(looks));
}

function hasStalled(seen: SeenProgress): boolean {
  const { connection } = seen;
  const taken = takenOf(connection);
  seen.idleLooks = connection.writableLength > 0 && taken === seen.taken ? seen.idleLooks + 1 : 0;
  seen.taken = taken;
  return seen.idleLooks >= LOOKS;
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

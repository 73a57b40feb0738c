import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { PassingMap } from '../../contracts/passing-map.ts';

/** A server's connections from here on, each for as long as it is open, in the order in which they came. */
export function openConnections(server: Server): Iterable<Socket> {
  const connections = new PassingMap<number, Socket>();
  let came = 0;
  server.on('connection', (connection: Socket) => {
    const number = ++came;
    connections.set(number, connection);
    connection.once('close', () => connections.delete(number));
  });
  return connections;
}

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** Ways in which a broker is lost: nobody listens there, or connections are accepted and nothing is ever said. */
export const WAYS_TO_BE_LOST = ['dead', 'silent'] as const;

interface LostBroker {
  /** host:port */
  readonly address: string;
  close(): void;
}

export async function lostBroker(how: (typeof WAYS_TO_BE_LOST)[number]): Promise<LostBroker> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  if (how === 'dead') close();
  return { address, close };
}

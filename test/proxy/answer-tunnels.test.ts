import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { LIMITS } from '../../contracts/limits.ts';
import { answerTunnels } from '../../proxy/answer-tunnels.ts';
import { endedLater } from '../fixtures/ended-later.ts';

/** More than the system keeps for one that does not read. */
const UNREAD = Buffer.alloc(32 * 1024 * 1024);

it('keeps no connection that asked for a tunnel for one that does not read the answer', async () => {
  const app = endedLater(Fastify());
  const asked = Promise.withResolvers<Socket>();
  app.server.prependListener('connect', (_request, socket: Socket) => {
    socket.write(UNREAD);
    asked.resolve(socket);
  });
  answerTunnels(app);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const client = connect({ port: (app.server.address() as AddressInfo).port, host: '127.0.0.1' });
  onTestFinished(() => void client.destroy());
  client.on('error', () => undefined);
  client.write('CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere\r\n\r\n');
  const socket = await asked.promise;
  expect(socket.timeout).toBe(LIMITS.restOfBodyMs);
  expect([socket.writableLength > 0, socket.destroyed]).toEqual([true, false]);
  const closed = once(socket, 'close');
  // What its time does.
  socket.emit('timeout');
  await closed;
});

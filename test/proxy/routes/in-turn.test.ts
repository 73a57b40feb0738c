import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { inTurn } from '../../../proxy/routes/in-turn.ts';

const MIB = 1024 * 1024;

it('what comes behind answers that nobody reads, whatever they are of, waits for its turn', async () => {
  const app = Fastify();
  app.get('/long', (_request, reply) => reply.send('x'.repeat(MIB)));
  let isUnderWay = false;
  app.post('/', { preHandler: inTurn({ observer: { left: () => undefined } }) }, (_request, reply) => {
    isUnderWay = true;
    return reply.send('done');
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const [connected] = [once(app.server, 'connection')];
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1').pause();
  const [connection] = await connected;
  // More than the network takes by itself, asked for in one packet.
  const long = 'GET /long HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(10);
  client.write(`${long}POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  await expect.poll(() => connection.writableLength).toBeGreaterThan(0);
  for (let turn = 0; turn < 100; turn++) await setImmediate();
  expect(isUnderWay).toBe(false);
  client.resume();
  await once(client, 'close');
  expect(isUnderWay).toBe(true);
  await app.close();
});

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { UntakenAnswers } from '../../../proxy/connections/untaken-answers.ts';

let app: FastifyInstance;
let untaken: UntakenAnswers;
let asked: PromiseWithResolvers<ServerResponse>;
const clients: Socket[] = [];
beforeEach(async () => {
  asked = Promise.withResolvers();
  app = Fastify();
  untaken = new UntakenAnswers(app.server);
  const hold = (_request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    asked.resolve(reply.raw);
  };
  app.get('/', hold);
  app.post('/', hold);
  app.get('/short', (_request, reply) => reply.send('short'));
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  app.server.closeAllConnections();
  await app.close();
});

/** A client that takes no byte until it is resumed. */
async function ask(method: string, path = '/'): Promise<Socket> {
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  clients.push(client);
  client.pause();
  await once(client, 'connect');
  client.write(`${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`);
  return client;
}

/** A stream of small pieces until the network takes no more, and its end. */
async function ended(response: ServerResponse): Promise<void> {
  do {
    response.write(Buffer.alloc(8_192, 'x'));
    await setImmediate();
  } while (response.writableLength === 0);
  response.end('the end');
}

it('a server that is closed closes connections that are idle, and none whose answer its client has yet to take', async () => {
  const idle = await ask('GET', '/short');
  idle.resume();
  await once(idle, 'data');
  const client = await ask('POST');
  await ended(await asked.promise);
  expect(untaken.count).toBe(1);
  const closed = app.close();
  await once(idle, 'close');
  const taken = untaken.whenTaken();
  const read = text(client);
  await taken;
  expect(untaken.count).toBe(0);
  app.server.closeAllConnections();
  expect(await read).toContain('the end');
  await closed;
});

it('an answer whose client has left is waited for no longer', async () => {
  const client = await ask('POST');
  await ended(await asked.promise);
  const taken = untaken.whenTaken();
  client.destroy();
  await taken;
  expect(untaken.count).toBe(0);
});

it.each([
  ['what anybody may ask for', 'GET', 200],
  ['a refusal', 'POST', 401],
])('%s is waited for by nobody, and goes with its idle connection', async (_what, method, status) => {
  const client = await ask(method);
  const answer = await asked.promise;
  answer.statusCode = status;
  await ended(answer);
  expect(untaken.count).toBe(0);
  await untaken.whenTaken();
  const closed = app.close();
  expect(await text(client)).not.toContain('the end');
  await closed;
});

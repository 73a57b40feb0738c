import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cutStalledClients } from '../../proxy/stalled-clients.ts';

const STALL_MS = 200;
const MIB = 1024 * 1024;
const LONG = Buffer.alloc(100 * MIB, 'x');

let app: FastifyInstance;
let client: Socket;
let connections: Socket[];
let asked: PromiseWithResolvers<ServerResponse>;
beforeEach(async () => {
  asked = Promise.withResolvers();
  app = Fastify();
  cutStalledClients(app, STALL_MS);
  connections = [];
  app.server.on('connection', (connection) => connections.push(connection));
  app.get('/own', (_request, reply) => reply.send('x'.repeat(MIB)));
  app.get('/long', (_request, reply) => reply.header('connection', 'close').send(LONG));
  app.get('/forwarded', (_request, reply) => {
    reply.hijack();
    asked.resolve(reply.raw);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  client.destroy();
  app.server.closeAllConnections();
  await app.close();
});

/** A client that asks and takes no byte until it is resumed. */
async function ask(...paths: string[]): Promise<void> {
  client = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  client.pause();
  await once(client, 'connect');
  client.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join(''));
}

/** Small pieces, each in a turn of its own, until the network takes no more; what waits then is too little to hold a writer. */
async function fill(response: ServerResponse): Promise<void> {
  do {
    response.write(Buffer.alloc(8_192));
    await setImmediate();
  } while (response.writableLength === 0);
  expect(response.writableNeedDrain).toBe(false);
}

describe('a client that takes no byte', () => {
  it.each([
    ['a part of a further request', 'GET /forwarded?', 'x'],
    ['blank lines', '', '\r\n'],
  ])('is cut though it sends: %s', async (_what, beginning, piece) => {
    await ask('/forwarded');
    const response = await asked.promise;
    await fill(response);
    client.write(beginning + piece);
    const sending = setInterval(() => client.write(piece), STALL_MS / 10);
    await once(response, 'close').finally(() => clearInterval(sending));
    expect(response.writableFinished).toBe(false);
  });

  it('is cut after a time, however small what waits is', async () => {
    await ask('/forwarded');
    const response = await asked.promise;
    await fill(response);
    await once(response, 'close');
    expect(response.writableFinished).toBe(false);
  });

  it('of an end is cut, too', async () => {
    await ask('/forwarded');
    const response = await asked.promise;
    await fill(response);
    response.end();
    await once(response, 'close');
    expect(response.writableFinished).toBe(false);
  });

  it('of answers that were sent whole is cut, with all that stands behind them', async () => {
    await ask(...Array<string>(30).fill('/own'), '/forwarded');
    const behind = await asked.promise;
    expect(behind.socket).toBeNull();
    const [connection] = connections;
    if (connection === undefined) throw new Error('nobody came');
    await once(connection, 'close');
    expect(connection.bytesWritten).toBeLessThan(30 * MIB);
  });
});

it('nobody is cut while nothing waits, for however long; and after that as before', async () => {
  await ask('/forwarded');
  const response = await asked.promise;
  client.resume();
  await delay(3 * STALL_MS);
  expect(response.destroyed).toBe(false);
  response.write('x');
  await once(client, 'data');
  client.pause();
  await fill(response);
  await once(response, 'close');
});

it('nobody is cut who takes a long answer slowly, though it is one write', async () => {
  await ask('/long');
  let taken = 0;
  const step = 2 * MIB;
  client.on('data', (piece) => {
    if (Math.floor(taken / step) < Math.floor((taken + piece.length) / step)) client.pause();
    taken += piece.length;
  });
  for (let round = 0; round < 30; round++) {
    client.resume();
    await delay(STALL_MS / 5);
  }
  expect(connections[0]?.destroyed).toBe(false);
  client.removeAllListeners('data');
  client.resume();
  await once(client, 'end');
});

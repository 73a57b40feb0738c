import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { LIMITS } from '../../../contracts/limits.ts';
import { boundWaiting } from '../../../proxy/connections/bound-waiting.ts';
import { leaveBodiesUnread } from '../../../proxy/routes/read-body.ts';
import { asking, get } from '../../fixtures/gateway/call.ts';
import { openSocket, requestText, sendRaw, statusesOf } from '../../fixtures/gateway/raw-socket.ts';
import { callsUnderWay } from '../../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { silence, stream, wait } from '../../upstream/answer.ts';
import { defaultAnswer } from '../../upstream/default-answer.ts';
import { streamEvents } from '../../upstream/stream-events.ts';

/** Requests that are sent on one connection while the first has no answer yet. */
const WAITING_MAX = 16;
const { upstream, gateway } = await startOnUpstream(afterAll, { provider: { onClientDisconnect: 'cancel' } });
beforeEach(() => upstream.answerWith(defaultAnswer));

const SLOW = JSON.stringify(asking('opal-medium', { stream: true }));
const slow = () => requestText(gateway.key, SLOW, []);
const bad = () => requestText(gateway.key, '{}', []);
const me = () => `GET /me HTTP/1.1\r\nhost: gateway\r\nx-api-key: ${gateway.key}\r\n\r\n`;

/** A connection with one message under way, its answer held back at the gate. */
async function underWay(gate: Promise<void>): Promise<{ socket: Socket; all: Promise<string> }> {
  const sent = upstream.requests.length;
  upstream.answerWith([wait(gate), ...stream(streamEvents())]);
  const socket = await openSocket(gateway.url);
  socket.on('error', () => undefined);
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  const all = once(socket, 'close').then(() => Buffer.concat(pieces).toString());
  socket.write(slow());
  await upstream.seen(sent);
  return { socket, all };
}

/** The gateway has read what was written before these are answered. */
async function haveRead(): Promise<void> {
  for (let round = 0; round < 5; round++) expect((await get(gateway, '/me')).status).toBe(200);
}

describe('requests that wait on one connection', () => {
  it('are answered in their order as long as they are few', async () => {
    const gate = Promise.withResolvers<void>();
    const { socket, all } = await underWay(gate.promise);
    socket.write(bad().repeat(WAITING_MAX - 2) + me());
    await expect.poll(() => callsUnderWay(gateway.gateway)).toBe(WAITING_MAX - 1);
    socket.write(requestText(gateway.key, '{}'));
    gate.resolve();
    expect(statusesOf(await all)).toEqual(['200', ...Array(WAITING_MAX - 2).fill('400'), '200', '400']);
  });

  it('are over with their connection also where it asks for a tunnel behind them: nothing of them is left, and each has its count', async () => {
    const { counts } = gateway.gateway.process;
    const left = () => new Map(counts.byStatus()).get(499) ?? 0;
    const before = left();
    const gate = Promise.withResolvers<void>();
    const { socket, all } = await underWay(gate.promise);
    socket.write(`${bad()}${me()}${bad()}CONNECT a:1 HTTP/1.1\r\nhost: x\r\n\r\n`);
    await all;
    gate.resolve();
    await expect.poll(() => callsUnderWay(gateway.gateway)).toBe(0);
    await expect.poll(() => left() - before).toBe(4);
    expect(gateway.gateway.process.bodies.bytes).toBe(0);
  });

  it('are counted no more once they are answered: two at a time are answered for ever', async () => {
    const socket = await openSocket(gateway.url);
    let answers = '';
    socket.on('data', (piece) => {
      answers += piece.toString();
    });
    for (let round = 1; round <= WAITING_MAX + 4; round++) {
      socket.write(bad() + bad());
      await expect.poll(() => statusesOf(answers), { interval: 1 }).toEqual(Array(2 * round).fill('400'));
    }
    socket.destroy();
  });

  it('are let in up to a bound, and the connection is closed behind the last of them', async () => {
    const gate = Promise.withResolvers<void>();
    const { socket, all } = await underWay(gate.promise);
    for (let round = 0; round < 5; round++) {
      socket.write(bad().repeat(1_000));
      await haveRead();
    }
    expect(callsUnderWay(gateway.gateway)).toBe(1 + WAITING_MAX);
    gate.resolve();
    const answers = await all;
    expect(statusesOf(answers)).toEqual(['200', ...Array(WAITING_MAX).fill('400')]);
    expect(answers.match(/^connection: close\r$/gim)).toHaveLength(1);
    expect(answers).toMatch(/connection: close\r\n(?:[^\r]+\r\n)*\r\n[^\r]*$/i);
    await expect.poll(() => callsUnderWay(gateway.gateway)).toBe(0);
  });

  it.each([
    ['GET', '/%', 404],
    ['GET', '/%C3%28?%', 404],
    ['GET', 'http://', 404],
    ['GET', 'ftp://gateway/healthz', 404],
    ['OPTIONS', '*', 404],
    ['GET', 'http://gateway/healthz', 200],
  ])('are bounded whatever they ask for: %s %s', async (method, target, status) => {
    const answers = await sendRaw(gateway.url, `${method} ${target} HTTP/1.1\r\nhost: gateway\r\n\r\n`.repeat(500));
    expect(new Set(statusesOf(answers))).toEqual(new Set([String(status)]));
    expect(statusesOf(answers).length).toBeLessThanOrEqual(1 + WAITING_MAX);
  });

  it.each([
    ['messages', () => bad().repeat(1_000)],
    ['what asks for no body', () => me().repeat(1_000)],
    ['long answers, few of them', () => 'GET /pricing HTTP/1.1\r\nhost: gateway\r\n\r\n'.repeat(WAITING_MAX)],
    ['what is not let in', () => requestText('none', '{}', []).repeat(1_000)],
    ['a long body of what is not let in', () => requestText('none', 'x'.repeat(1_000_000), [])],
    ['a request that is not whole', () => bad().repeat(1_000) + bad().slice(0, -1)],
  ])('do not hide that their client has left: %s', async (_title, behind) => {
    for (const leave of [(socket: Socket) => socket.destroy(), (socket: Socket) => socket.end()]) {
      const { socket } = await underWay(new Promise(() => undefined));
      upstream.answerWith([silence]);
      socket.write(behind());
      await haveRead();
      expect(callsUnderWay(gateway.gateway)).toBeGreaterThan(0);
      leave(socket);
      await expect.poll(() => callsUnderWay(gateway.gateway)).toBe(0);
      socket.destroy();
    }
  });
});

/** No gateway: what reads bodies, answers and waits there would hide whether a connection is read, parsed and closed. */
describe('the connection of requests that wait, alone', () => {
  const LONG = 'x'.repeat(64 * 1024);
  const held = 'GET /held HTTP/1.1\r\nhost: bare\r\n\r\n';
  const long = 'GET /long HTTP/1.1\r\nhost: bare\r\n\r\n';
  /** Answered at once, before its turn; of its body nothing is read. */
  const refused = requestText('none', 'x'.repeat(100), []);
  let app: FastifyInstance;
  let url: string;
  let letGo: () => void;
  let socket: Socket;
  /** The same connection as the server has it. */
  let served: Socket;
  let seen: { parsed: number; longAnswered: number; posted: number; heldLeft: number };

  beforeEach(async () => {
    // Its own, for a connection's end may be told when the next test has begun.
    const counts = { parsed: 0, longAnswered: 0, posted: 0, heldLeft: 0 };
    seen = counts;
    const { promise, resolve } = Promise.withResolvers<void>();
    letGo = resolve;
    app = Fastify();
    app.addHook('onRequest', (_request, _reply, done) => {
      counts.parsed++;
      done();
    });
    boundWaiting(app, () => undefined);
    leaveBodiesUnread(app);
    app.get('/held', async (_request, reply) => {
      reply.raw.once('close', () => counts.heldLeft++);
      await promise;
      return 'held';
    });
    app.get('/long', async () => {
      counts.longAnswered++;
      return LONG;
    });
    app.post('/v1/messages', async (_request, reply) => {
      counts.posted++;
      return reply.code(401).send('who?');
    });
    url = await app.listen({ port: 0, host: '127.0.0.1' });
    const connected = once(app.server, 'connection');
    socket = await openSocket(url);
    socket.on('error', () => undefined);
    [served] = await connected;
  });
  afterEach(async () => {
    letGo();
    socket.destroy();
    app.server.closeAllConnections();
    await app.close();
  });

  /** Behind a request that is held, as many are sent as may wait, and one more, by which the bound is met. */
  async function full(one: string, more = one): Promise<string> {
    const sent = held + one.repeat(WAITING_MAX) + more;
    socket.write(sent);
    await expect.poll(() => seen.parsed).toBe(1 + WAITING_MAX + 1);
    return sent;
  }

  it.each([
    ['refused', refused, refused],
    ['long', long, long],
    // Node itself reads on behind a request that is whole, whoever has paused.
    ['not whole', refused, refused.slice(0, -1)],
    ['a long body', refused, requestText('none', 'x'.repeat(1_000_000), [])],
  ])('is read on behind the bound, and no request of it is parsed: %s', async (_title, one, last) => {
    let bytes = (await full(one, last)).length;
    for (let round = 0; round < 3; round++) {
      socket.write(refused.repeat(500));
      bytes += refused.length * 500;
      await expect.poll(() => served.bytesRead).toBe(bytes);
    }
    expect(seen.parsed).toBe(1 + WAITING_MAX + 1);
  });

  it.each([
    ['what has a body', refused],
    ['what has none', long],
  ])('is read on behind the bound, and no request of the same packet is made: %s', async (_title, one) => {
    const sent = held + one.repeat(WAITING_MAX + 500);
    socket.write(sent);
    await expect.poll(() => served.bytesRead).toBe(sent.length);
    expect(seen.parsed).toBe(1 + WAITING_MAX + 1);
  });

  it.each([
    ['refused', refused, refused],
    ['long', long, long],
    ['not whole', refused, refused.slice(0, -1)],
    ['a long body', refused, requestText('none', 'x'.repeat(1_000_000), [])],
  ])('tells that its client has left: %s', async (_title, one, last) => {
    await full(one, last);
    socket.end();
    await expect.poll(() => seen.heldLeft).toBe(1);
  });

  it.each([
    ['with a length', `content-length: 1000000\r\n\r\n${'x'.repeat(500_000)}`],
    ['in chunks', `transfer-encoding: chunked\r\n\r\n${`10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(8)}`],
    ['in crumbs', `transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(100_000)}`],
  ])('is read on where what needs no body comes with one all the same, and tells: %s', async (_title, body) => {
    const sent = `${held}${long.slice(0, -2)}${body}`;
    socket.write(sent);
    await expect.poll(() => served.bytesRead).toBe(sent.length);
    expect(seen.heldLeft).toBe(0);
    socket.end();
    await expect.poll(() => seen.heldLeft).toBe(1);
  });

  it('answers a request whose body was dropped in its turn, and the next one', async () => {
    const pieces: Buffer[] = [];
    socket.on('data', (piece) => pieces.push(piece));
    socket.write(`${held}${long.slice(0, -2)}content-length: 500000\r\n\r\n${'x'.repeat(500_000)}${refused}`);
    await expect.poll(() => seen.posted).toBe(1);
    letGo();
    await expect.poll(() => statusesOf(Buffer.concat(pieces).toString())).toEqual(['200', '200', '401']);
  });

  it('answers what has no body in its turn, not before', async () => {
    socket.resume();
    socket.write(held + long.repeat(WAITING_MAX));
    await expect.poll(() => seen.parsed).toBe(1 + WAITING_MAX);
    expect(seen.longAnswered).toBe(0);
    expect(seen.heldLeft).toBe(0);
    letGo();
    await expect.poll(() => seen.longAnswered).toBe(WAITING_MAX);
  });

  it('takes up what has a body before its turn, so that it is read and the connection with it', async () => {
    socket.write(held + refused);
    await expect.poll(() => seen.posted).toBe(1);
    expect(seen.heldLeft).toBe(0);
  });

  it('is closed behind the last answer, also where that was given before the bound was met', async () => {
    const pieces: Buffer[] = [];
    socket.on('data', (piece) => pieces.push(piece));
    await full(refused);
    letGo();
    await expect.poll(() => socket.closed).toBe(true);
    expect(statusesOf(Buffer.concat(pieces).toString())).toEqual(['200', ...Array(WAITING_MAX).fill('401')]);
  });

  it.each([
    ['with a length', 'POST /v1/messages HTTP/1.1\r\nhost: bare\r\ncontent-length: 1\r\n\r\na'],
    ['in chunks', 'POST /v1/messages HTTP/1.1\r\nhost: bare\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n'],
  ])('is closed where one turn brings more, though each has its answer before the next: %s', async (_title, one) => {
    const pieces: Buffer[] = [];
    socket.on('data', (piece) => pieces.push(piece));
    // What an earlier turn brought is not counted.
    socket.write(one);
    await expect.poll(() => pieces.length).toBeGreaterThan(0);
    const sent = one.repeat(500);
    socket.write(sent);
    await expect.poll(() => socket.closed).toBe(true);
    expect(served.bytesRead).toBe(one.length + sent.length);
    const answered = 1 + (1 + WAITING_MAX);
    expect([seen.parsed, seen.posted]).toEqual([answered + 1, answered]);
    expect(statusesOf(Buffer.concat(pieces).toString())).toEqual(Array(answered).fill('401'));
  });

  it('is not reset under a client that has not yet seen the end, and sends on', async () => {
    const failures: Error[] = [];
    socket.on('error', (error) => failures.push(error));
    socket.allowHalfOpen = true;
    socket.resume();
    let bytes = (await full(refused)).length;
    letGo();
    await once(socket, 'end');
    for (let round = 0; round < 3; round++) {
      socket.write(refused.repeat(500));
      bytes += refused.length * 500;
      await expect.poll(() => served.bytesRead).toBe(bytes);
    }
    socket.end();
    await expect.poll(() => socket.closed).toBe(true);
    expect([served.destroyed, failures]).toEqual([true, []]);
  });

  it('is cut in the end under a client that neither sends nor closes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    socket.allowHalfOpen = true;
    socket.resume();
    await full(refused);
    letGo();
    await once(socket, 'end');
    expect(served.destroyed).toBe(false);
    vi.advanceTimersByTime(LIMITS.restOfBodyMs);
    expect(served.destroyed).toBe(true);
  });
});

it.each([
  ['is closed', 'connection: close\r\n', true],
  ['stands idle', '', false],
])('a connection that %s keeps nothing of its requests, whoever has it still', async (_title, header, closes) => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const app = Fastify();
  onTestFinished(() => app.close());
  boundWaiting(app, () => undefined);
  const connections: Socket[] = [];
  const requests: WeakRef<object>[] = [];
  app.server.on('connection', (connection: Socket) => connections.push(connection));
  app.get('/', (request) => {
    requests.push(new WeakRef(request.raw));
    return 'x';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const socket = await openSocket(`http://127.0.0.1:${port}`);
  onTestFinished(() => void socket.destroy());
  socket.write(`GET / HTTP/1.1\r\nhost: x\r\n${header}\r\n`);
  expect(String((await once(socket, 'data'))[0])).toContain(' 200 ');
  expect(requests).toHaveLength(1);
  await expect.poll(() => connections.map(({ closed }) => closed)).toEqual([closes]);
  // What has been looked at in a turn lives until its end.
  await nextTurn();
  collect();
  expect(requests.map((request) => request.deref())).toEqual([undefined]);
});

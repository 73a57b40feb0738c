import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../gateway/start-gateway.ts';
import { silence, stream, wait } from '../../upstream/answer.ts';
import { defaultAnswer } from '../../upstream/default-answer.ts';
import { streamEvents } from '../../upstream/stream-events.ts';
import { startUpstream, type Upstream } from '../../upstream/upstream.ts';
import { asking, get } from '../fixtures/call.ts';
import { openSocket, requestText, statusesOf } from '../fixtures/raw-socket.ts';

/** Requests that are sent on one connection while the first has no answer yet. */
const WAITING_MAX = 16;
let upstream: Upstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({ upstreamUrl: upstream.url, provider: { onClientDisconnect: 'cancel' } });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});
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
    await expect.poll(() => gateway.gateway.callsUnderWay).toBe(WAITING_MAX - 1);
    socket.write(requestText(gateway.key, '{}'));
    gate.resolve();
    expect(statusesOf(await all)).toEqual(['200', ...Array(WAITING_MAX - 2).fill('400'), '200', '400']);
  });

  it('are let in up to a bound, and the connection is closed behind the last of them', async () => {
    const gate = Promise.withResolvers<void>();
    const { socket, all } = await underWay(gate.promise);
    for (let round = 0; round < 5; round++) {
      socket.write(bad().repeat(1_000));
      await haveRead();
    }
    expect(gateway.gateway.callsUnderWay).toBe(1 + WAITING_MAX);
    gate.resolve();
    const answers = await all;
    expect(statusesOf(answers)).toEqual(['200', ...Array(WAITING_MAX).fill('400')]);
    expect(answers.match(/^connection: close\r$/gim)).toHaveLength(1);
    expect(answers).toMatch(/connection: close\r\n(?:[^\r]+\r\n)*\r\n[^\r]*$/i);
    await expect.poll(() => gateway.gateway.callsUnderWay).toBe(0);
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
      expect(gateway.gateway.callsUnderWay).toBeGreaterThan(0);
      leave(socket);
      await expect.poll(() => gateway.gateway.callsUnderWay).toBe(0);
      socket.destroy();
    }
  });
});

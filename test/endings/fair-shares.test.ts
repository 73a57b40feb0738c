import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { asking, type Callable, call, get, post } from '../fixtures/gateway/call.ts';
import { openAccount } from '../fixtures/gateway/open-account.ts';
import { postMessage, startPost } from '../fixtures/gateway/post-message.ts';
import { openSocket, requestText } from '../fixtures/gateway/raw-socket.ts';
import { callsUnderWay, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { type Answer, head, json, silence, stream, wait } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** What one caller can take from another: connections of a provider, and what is done for those who have left. */
const COUNT = '/v1/messages/count_tokens';
let upstream: Upstream;
let gateway: TestGateway;
let gate: PromiseWithResolvers<void>;

const start = async (provider: Readonly<Record<string, unknown>>): Promise<void> => {
  ({ upstream, gateway } = await startOnUpstream(onTestFinished, {
    provider: { onClientDisconnect: 'cancel', ...provider },
    settings: { metrics: { serve: { port: 0 } } },
  }));
  gate = Promise.withResolvers();
  onTestFinished(() => gate.resolve());
};

/** Counts are answered once the gate is open, messages at once. */
const gatedCounts = ({ path }: { readonly path: string }): Answer =>
  path === COUNT ? [wait(gate.promise), ...json({ input_tokens: 7 })] : json(message());

async function figure(name: string): Promise<number> {
  const { text } = await call(gateway.gateway.metricsUrl ?? '', '/metrics');
  return Number(new RegExp(`^gateway_${name.replaceAll(/[{}]/g, '\\$&')} (\\d+)$`, 'm').exec(text)?.[1]);
}
/** A client on a connection of its own, which it can close at once. */
async function leavingPost({ url, key }: Callable, path: string, body: object): Promise<Socket> {
  const socket = await openSocket(url);
  socket.write(requestText(key, JSON.stringify(body)).replace('POST /v1/messages ', `POST ${path} `));
  return socket;
}

const counts = (): number => upstream.requests.filter(({ path }) => path === COUNT).length;
const count = (caller: Callable): Promise<{ readonly body: unknown }> => post(caller, COUNT, asking('opal-medium'));

describe('counts of tokens', () => {
  it('have connections of their own: a message never waits for one', async () => {
    await start({ connections: 1, countConnections: 1, accountPercent: 100 });
    upstream.answerWith(gatedCounts);
    const waiting = Array.from({ length: 5 }, () => count(gateway));
    await expect.poll(() => figure('calls_waiting')).toBe(4);
    expect(await figure('upstream_calls_waiting{upstream="test"}')).toBe(4);
    expect((await post(gateway, '/v1/messages', asking('opal-medium'))).status).toBe(200);
    expect(counts()).toBe(1);
    gate.resolve();
    for (const answered of waiting) expect((await answered).body).toEqual({ input_tokens: 7 });
  });

  it('are never asked for once their client has left', async () => {
    await start({ countConnections: 1 });
    upstream.answerWith(gatedCounts);
    const first = count(gateway);
    await upstream.seen(0);
    const left = await leavingPost(gateway, COUNT, asking('opal-medium'));
    await expect.poll(() => figure('calls_waiting')).toBe(1);
    left.destroy();
    await expect.poll(() => figure('calls_waiting')).toBe(0);
    await expect.poll(() => figure('calls_under_way{kind="count"}')).toBe(1);
    gate.resolve();
    await first;
    expect((await count(gateway)).body).toEqual({ input_tokens: 7 });
    expect(counts()).toBe(2);
  });

  it("end with their client: the connection is the next one's", async () => {
    await start({ countConnections: 1 });
    upstream.answerWith([silence]);
    const left = await leavingPost(gateway, COUNT, asking('opal-medium'));
    await upstream.seen(0);
    upstream.answerWith(json({ input_tokens: 7 }));
    left.destroy();
    expect((await count(gateway)).body).toEqual({ input_tokens: 7 });
    expect(await figure('calls_under_way{kind="count"}')).toBe(0);
  });

  it('by which a message would be admitted are not asked for once its client has left, and nothing is held', async () => {
    await start({ countConnections: 1 });
    upstream.answerWith(gatedCounts);
    // Its bytes do not fit, its likely tokens do.
    const poor = await openAccount(gateway, { credits: 30_000n });
    const long = asking('opal-medium', { messages: [{ role: 'user', content: 'x'.repeat(20_000) }] });
    const first = count(gateway);
    await upstream.seen(0);
    const left = await leavingPost(poor, '/v1/messages', long);
    await expect.poll(() => figure('calls_waiting')).toBe(1);
    left.destroy();
    await expect.poll(() => figure('calls_waiting')).toBe(0);
    await expect.poll(() => figure('calls_under_way{kind="message"}')).toBe(0);
    gate.resolve();
    await first;
    expect((await get(poor, '/me')).body).toMatchObject({ held_credits: 0 });
    expect((await post(poor, '/v1/messages', long)).status).toBe(200);
    expect(upstream.requests.map(({ path }) => path)).toEqual([COUNT, COUNT, '/v1/messages']);
  });
});

describe("a provider's connections", () => {
  it('are not all for one account: other calls pass by those that wait', async () => {
    await start({ connections: 2, accountPercent: 50 });
    const [begun, ...more] = stream(streamEvents());
    upstream.answerWith([begun ?? head(), wait(gate.promise), ...more]);
    const first = await postMessage(gateway, { stream: true });
    const posts = Array.from({ length: 3 }, () => startPost(gateway, { stream: true }));
    await expect.poll(() => figure('calls_waiting')).toBe(3);
    upstream.answerWith(json(message()));
    const other = await openAccount(gateway, { credits: 1_000_000_000n });
    for (let times = 0; times < 3; times++)
      expect((await post(other, '/v1/messages', asking('opal-medium'))).status).toBe(200);
    expect(await figure('calls_waiting')).toBe(3);
    gate.resolve();
    await first.rest();
    for (const { answered } of posts) await (await answered).rest();
    expect(await figure('calls_waiting')).toBe(0);
  });

  it('are not asked for where the client leaves while its long body is read, and nothing of the call is left', async () => {
    await start({});
    const body = asking('opal-medium', { messages: [{ role: 'user', content: 'x'.repeat(400_000) }] });
    const sockets = await Promise.all(Array.from({ length: 12 }, () => leavingPost(gateway, '/v1/messages', body)));
    for (const [index, socket] of sockets.entries()) {
      // In the middle of it, at its end, and a little later.
      if (index % 3 > 0) await get(gateway, '/me');
      socket.destroy();
    }
    await expect.poll(() => figure('body_bytes')).toBe(0);
    await expect.poll(() => figure('calls_under_way{kind="message"}')).toBe(0);
    expect((await get(gateway, '/me')).body).toMatchObject({ held_credits: 0 });
  });

  it('are not asked for where the client leaves while the values of its body are read, and its places are free', async () => {
    await start({});
    const messages = Array.from({ length: 20_001 }, (_, index) => ({
      role: index % 2 ? 'assistant' : 'user',
      content: 'x',
    }));
    const body = asking('opal-medium', { messages });
    const clients = 6;
    const sockets = await Promise.all(
      Array.from({ length: clients }, () => leavingPost(gateway, '/v1/messages', body)),
    );
    // They are read one after the other, by a thread: all are here, or the first is through.
    const bytes = clients * JSON.stringify(body).length;
    await expect
      .poll(async () => upstream.requests.length > 0 || (await figure('body_bytes')) >= bytes, { interval: 1 })
      .toBe(true);
    // What a thread has, or is to have, takes its part of the budget until then, also where nobody waits for it any more.
    const early: object[] = [];
    const looks = setInterval(() => {
      const bodyBytes = gateway.gateway.process.bodies.bytes;
      const calls = callsUnderWay(gateway.gateway);
      if (bodyBytes * clients < calls * bytes) early.push({ calls, bodyBytes });
    }, 1);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => figure('calls_under_way{kind="message"}')).toBe(0);
    clearInterval(looks);
    expect(early).toEqual([]);
    await expect.poll(() => figure('body_bytes')).toBe(0);
    await expect.poll(async () => (await get(gateway, '/me')).body).toMatchObject({ held_credits: 0 });
  });

  it('are not waited for by calls whose client has left: nothing of them is kept', async () => {
    await start({ connections: 1 });
    const [begun, ...more] = stream(streamEvents());
    upstream.answerWith([begun ?? head(), wait(gate.promise), ...more]);
    const first = await postMessage(gateway, { stream: true });
    const posts = Array.from({ length: 5 }, () => startPost(gateway, { stream: true }));
    for (const { answered } of posts) answered.catch(() => undefined);
    await expect.poll(() => figure('calls_waiting')).toBe(5);
    for (const { leave } of posts) leave();
    await expect.poll(() => figure('calls_waiting')).toBe(0);
    await expect.poll(() => figure('calls_under_way{kind="stream"}')).toBe(1);
    gate.resolve();
    await first.rest();
    expect(upstream.requests.length).toBe(1);
  });
});

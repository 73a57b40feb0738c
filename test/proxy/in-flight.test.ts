import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { requestId } from '../../contracts/ids.ts';
import { InFlight } from '../../proxy/in-flight.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { openSocket, requestText } from '../fixtures/gateway/raw-socket.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { countTokens, wait } from '../upstream/answer.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

const STILL_MS = 2_000;
/** Of a gateway that stops, in limits of a configuration: as much as there may be. */
const DRAIN_MS_MAX = 300_000;

describe('requests that have no answer yet', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Requests of whose bodies so much has come, and whether a stop has waited for them for as long as it does. */
  function stopping(...bodies: (number | null)[]) {
    const requests = new InFlight(10);
    const ids = bodies.map((_, index) => requestId(`req_${index}`));
    for (const [index, id] of ids.entries()) requests.accept(id, () => bodies[index] ?? null);
    const seen = { isOver: false };
    void requests.whenAnswered(STILL_MS).then(() => {
      seen.isOver = true;
    });
    return { requests, ids, bodies, seen, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
  }

  it('are waited for as long as something comes of their bodies, and no longer', async () => {
    const { bodies, seen, pass } = stopping(0, 3);
    for (let times = 0; times < 20; times++) {
      bodies[0] = times;
      await pass(STILL_MS);
      expect(seen.isOver).toBe(false);
    }
    await pass(STILL_MS);
    expect(seen.isOver).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are waited for where their bodies are whole, until they have one', async () => {
    const { requests, ids, seen, pass } = stopping(null, 3);
    await pass(20 * STILL_MS);
    expect(seen.isOver).toBe(false);
    requests.answered(ids[0] ?? requestId(''));
    await pass(0);
    expect(seen.isOver).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are waited for no more once each has one', async () => {
    const { requests, ids, seen, pass } = stopping(3, 5);
    for (const id of ids) requests.answered(id);
    await pass(0);
    expect(seen.isOver).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a gateway that stops', () => {
  let upstream: Upstream;
  let gateway: TestGateway;
  beforeEach(async () => {
    upstream = await startUpstream();
    gateway = await startTestGateway({ upstreamUrl: upstream.url, settings: { shutdownDrainMs: DRAIN_MS_MAX } });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await upstream.close();
  });

  it('does not wait for a body of which three bytes have come and no more', async () => {
    const text = requestText(gateway.key, JSON.stringify(asking('svc-mock')));
    const socket = await openSocket(gateway.url);
    socket.on('error', () => undefined);
    socket.write(text.slice(0, text.indexOf('\r\n\r\n') + 4 + 3));
    await expect.poll(() => gateway.gateway.process.bodies.bytes).toBeGreaterThan(0);
    // Else it would last for longer than a test may.
    await gateway.stop();
    socket.destroy();
  });

  it('waits for the answer to a body that has come, however long nothing more comes of that', async () => {
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...countTokens(7)]);
    const counted = post(gateway, '/v1/messages/count_tokens', asking('opal-medium'));
    counted.catch(() => undefined);
    await upstream.seen(0);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const stopped = gateway.stop();
    await vi.advanceTimersByTimeAsync(20 * STILL_MS);
    vi.useRealTimers();
    // Time enough for a stop that waits for nothing.
    await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, 500))]);
    gate.resolve();
    expect((await counted).body).toEqual({ input_tokens: 7 });
    await stopped;
  });
});

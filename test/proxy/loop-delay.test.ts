import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../contracts/limits.ts';
import { LoopDelay, loopDelayOfProcess } from '../../proxy/loop-delay.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, call, get, post, refusalOf } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';

const { loopDelayShedMs: SHED, loopDelayCalmMs: CALM, loopDelayTimes: TIMES } = LIMITS;

describe('a loop that is behind', () => {
  const watched = () => {
    const reading = { ms: 0 };
    const delay = endedLater(new LoopDelay(() => reading.ms));
    const look = (ms: number): boolean => {
      reading.ms = ms;
      delay.look();
      return delay.isBehind;
    };
    return { delay, look };
  };

  it('sheds once it has been so for several readings, and a stall alone sheds nothing', () => {
    const { delay, look } = watched();
    for (let time = 1; time < TIMES; time++) expect(look(SHED)).toBe(false);
    expect(look(SHED - 1)).toBe(false);
    for (let time = 1; time < TIMES; time++) expect(look(60_000)).toBe(false);
    expect([delay.refuse(), delay.describe()]).toEqual([null, null]);
    expect(look(SHED)).toBe(true);
    expect(delay.refuse()).toMatchObject({ code: 'gateway_overloaded', retryAfterS: expect.any(Number) });
    expect(delay.describe()).toBe(
      `the event loop is ${SHED} ms late: new messages and counts are refused until it has caught up`,
    );
    expect(delay.ms).toBe(SHED);
  });

  it('sheds on until it is far below, and then takes as many readings again', () => {
    const { look } = watched();
    for (let time = 1; time <= TIMES; time++) look(SHED);
    expect(look(SHED - 1)).toBe(true);
    expect(look(CALM + 1)).toBe(true);
    expect(look(CALM)).toBe(false);
    for (let time = 1; time < TIMES; time++) expect(look(SHED)).toBe(false);
    expect(look(SHED)).toBe(true);
  });
});

describe('the reading of this process', () => {
  const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

  it('is how late the loop was since the last one, and nothing of what was before', async () => {
    const read = loopDelayOfProcess();
    await delay(60);
    standStill(400);
    await delay(30);
    expect(read()).toBeGreaterThan(50);
    expect(read()).toBe(0);
  });

  it('has nothing of how long is slept between its samples', async () => {
    const read = loopDelayOfProcess();
    const readLater = async () => {
      await delay(200);
      return read();
    };
    await expect.poll(readLater, { timeout: 60_000 }).toBeLessThan(10);
  });
});

describe('a gateway whose loop is behind', () => {
  let gateway: TestGateway;
  const samples = async (): Promise<string> => (await call(gateway.gateway.metricsUrl ?? '', '/metrics')).text;

  it('refuses new messages and counts with 529 before it looks at them, tells of it, and goes on by itself', async () => {
    let ms = 0;
    gateway = endedLater(
      await startTestGateway({ loopDelay: () => ms, settings: { metrics: { serve: { port: 0 } } } }),
    );
    const ask = async (path: string, key = gateway.key) => post({ ...gateway, key }, path, asking('svc-mock'));
    expect((await ask('/v1/messages')).status).toBe(200);
    ms = 2 * SHED;
    await expect.poll(async () => (await ask('/v1/messages')).status).toBe(529);
    for (const path of ['/v1/messages', '/messages', '/v1/messages/count_tokens']) {
      const answered = await ask(path, 'sk-svc-wrong');
      expect(refusalOf(answered, 529)).toBe('the gateway is behind with what it has; try again');
      expect(answered.headers['retry-after']).toBe('2');
      expect(answered.headers['x-should-retry']).toBe('true');
    }
    expect((await get(gateway, '/me')).status).toBe(200);
    expect((await call(gateway.url, '/healthz')).status).toBe(200);
    const degraded = expect.stringMatching(/^the event loop is 1000 ms late/);
    for (const path of ['/readyz', '/status'])
      expect(await get(gateway, path)).toMatchObject({ status: 200, body: { ok: true, degraded } });
    expect(await samples()).toMatch(/^gateway_admitting 0$/m);
    expect(await samples()).toMatch(/^gateway_shedding 1$/m);
    expect(await samples()).toMatch(new RegExp(`^gateway_event_loop_delay_seconds ${(2 * SHED) / 1_000}$`, 'm'));
    ms = 0;
    await expect.poll(async () => (await ask('/v1/messages')).status).toBe(200);
    expect(await samples()).toMatch(/^gateway_shedding 0$/m);
    expect(await samples()).toMatch(/^gateway_admitting 1$/m);
    expect((await get(gateway, '/readyz')).body).toEqual({ ok: true });
    expect(await samples()).toMatch(/^gateway_shed_total [1-9]\d*$/m);
  });
});

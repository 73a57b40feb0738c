import { join } from 'node:path';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { statusSchema } from '../../contracts/answers.ts';
import { decodeEvent } from '../../contracts/event-codec.ts';
import { accountId, accountStream } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { Gateway } from '../../proxy/program/serve/gateway.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, call, get, post, refusalOf } from '../fixtures/gateway/call.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const clock = { nowMs: 0 };

/** A gateway over a log that goes away when it is told to; the example catalog answers from the built-in mock. */
async function start(creditsMicroUsd = 1_000_000_000n, settings = {}) {
  clock.nowMs = Date.now();
  const log = new LogWithOutages();
  const gateway = endedLater(await startTestGateway({ log, clock: () => clock.nowMs, creditsMicroUsd, settings }));
  return { log, gateway };
}

/** Another life of a gateway on the same folder, whether the log is there or not. */
async function startAgain({ data, key }: { data: string; key: string }, log: LogWithOutages) {
  const configuration = readConfiguration({ file: join(data, 'gateway.json'), environment: {}, callsProviders: true });
  const logger = pino({ level: 'silent' });
  const gateway = endedLater(
    await Gateway.start({
      configuration,
      log,
      logger,
      clock: () => clock.nowMs,
      monotonic: () => clock.nowMs,
    }),
  );
  return { gateway, url: gateway.url, key };
}

async function usagesIn(log: LogWithOutages): Promise<string[]> {
  const events = await Array.fromAsync(log.inner.readStream(accountStream(accountId('acct_test'))), decodeEvent);
  return events.flatMap((event) => (event.type === 'UsageRecorded' ? [event.data.requestId] : []));
}

const requestIdOf = ({ headers }: Awaited<ReturnType<typeof call>>): string => String(headers['request-id']);
const heldIn = (body: unknown): number => (body as { held_credits: number }).held_credits;

describe('with the event log away', () => {
  it('requests are served and told as degraded; each is billed once as soon as it is back', async () => {
    const { log, gateway } = await start();
    await log.goAway();
    clock.nowMs += 7_000;
    const answers = [];
    for (let count = 0; count < 5; count++) answers.push(await post(gateway, '/v1/messages', asking('opal-medium')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const degraded =
      'the event log has been away for 7 s; requests are admitted by the views of then, and usage waits in the journal';
    expect(await call(gateway.url, '/readyz')).toMatchObject({ status: 200, body: { ok: true, degraded } });
    const status = statusSchema.parse((await call(gateway.url, '/status')).body);
    expect(status).toMatchObject({ ok: true, degraded });
    expect(await usagesIn(log)).toEqual([]);
    log.comeBack();
    await gateway.gateway.process.settlement.idle();
    expect((await usagesIn(log)).toSorted()).toEqual(answers.map(requestIdOf).toSorted());
    expect((await call(gateway.url, '/readyz')).body).toEqual({ ok: true });
  });

  it('past projections.maxAgeMs every request is refused with the bound and the length of the outage', async () => {
    const { log, gateway } = await start();
    await log.goAway();
    clock.nowMs += LIMITS.viewsAgeMs;
    expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
    clock.nowMs += 1;
    const reason = 'the event log has been away for 301 s: the views are older than the 300 s of projections.maxAgeMs';
    const answered = await post(gateway, '/v1/messages', asking('svc-mock'));
    expect(answered.body).toMatchObject({ error: { type: 'overloaded_error' } });
    expect(refusalOf(answered, 529)).toBe(reason);
    expect(answered.headers['retry-after']).toBe('5');
    expect(await call(gateway.url, '/readyz')).toMatchObject({ status: 503, body: { ok: false, reason } });
    expect((await call(gateway.url, '/status')).body).toMatchObject({ ok: false });
    log.comeBack();
    await expect.poll(async () => (await call(gateway.url, '/readyz')).body).toEqual({ ok: true });
    expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  });
});

describe('a log that takes no appends', () => {
  it('is told as away though its reads come back, until it takes them again, for which nobody has to ask', async () => {
    const eventLog = { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:1?tls=false' };
    const { log, gateway } = await start(undefined, { proxies: 'many', eventLog });
    log.inner.faults = () => ({ type: 'refuse' });
    const ask = () => post(gateway, '/v1/messages', asking('opal-medium'));
    expect(refusalOf(await ask(), 529)).toBe('the event log does not answer, and no credit is set aside here');
    const degraded = 'the event log has been away for 0 s; usage waits in the journal';
    const readyz = async () => (await call(gateway.url, '/readyz')).body;
    expect(await readyz()).toEqual({ ok: true, degraded });
    await log.goAway();
    expect(await readyz()).toMatchObject({ degraded: expect.stringContaining('by the views of then') });
    log.comeBack();
    await expect.poll(readyz).toEqual({ ok: true, degraded });
    const { appends } = log.inner;
    await expect.poll(() => log.inner.appends).toBeGreaterThan(appends);
    expect(await readyz()).toEqual({ ok: true, degraded });
    log.inner.faults = () => ({ type: 'none' });
    await expect.poll(readyz).toEqual({ ok: true });
    expect((await ask()).status).toBe(200);
  });
});

describe('a log that comes back with less than was seen', () => {
  it('is served from no more at the first look; where a node has lagged behind it goes on', async () => {
    const eventLog = { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:1?tls=false' };
    const { log, gateway } = await start(undefined, { proxies: 'one', eventLog });
    const ask = () => post(gateway, '/v1/messages', asking('svc-mock'));
    expect((await ask()).status).toBe(200);
    await log.goAway();
    log.emptyReads = Number.MAX_SAFE_INTEGER;
    log.comeBack();
    await expect
      .poll(async () => refusalOf(await ask(), 529))
      .toBe('the ledger lacks events that this gateway has seen; it is looked for them again');
    expect((await call(gateway.url, '/readyz')).status).toBe(503);
    log.emptyReads = 0;
    await expect.poll(async () => (await ask()).status).toBe(200);
  });

  it('is served from never again where no node can have lagged behind: in one file', async () => {
    const { log, gateway } = await start();
    await log.goAway();
    log.emptyReads = Number.MAX_SAFE_INTEGER;
    log.comeBack();
    const reason = 'the ledger lacks events that this gateway has seen; the log of this gateway says why';
    const readyz = () => call(gateway.url, '/readyz');
    await expect.poll(readyz).toMatchObject({ status: 503, body: { ok: false, reason } });
    log.emptyReads = 0;
    expect(refusalOf(await post(gateway, '/v1/messages', asking('svc-mock')), 529)).toBe(reason);
  });
});

describe('a gateway that starts while the event log is away', () => {
  it('serves from the views of before, and settles what it finds in its journal once when the log is back', async () => {
    const { log, gateway } = await start();
    const before = await post(gateway, '/v1/messages', asking('opal-medium'));
    await gateway.gateway.process.settlement.idle();
    await log.goAway();
    const during = await post(gateway, '/v1/messages', asking('opal-medium'));
    await gateway.gateway.stop();
    const again = await startAgain(gateway, log);
    await again.gateway.whenReady();
    expect((await call(again.url, '/readyz')).body).toMatchObject({ ok: true, degraded: expect.any(String) });
    const after = await post(again, '/v1/messages', asking('opal-medium'));
    expect([during.status, after.status]).toEqual([200, 200]);
    log.comeBack();
    await expect.poll(async () => (await usagesIn(log)).length).toBe(3);
    await again.gateway.process.settlement.idle();
    expect((await usagesIn(log)).toSorted()).toEqual([before, during, after].map(requestIdOf).toSorted());
    expect(heldIn((await get(again, '/me')).body)).toBe(0);
  });

  it('holds what the requests of its last life have cost, so that no credit is spent twice', async () => {
    const { log, gateway } = await start(5_000n);
    await log.goAway();
    const answers = [];
    for (let status = 200; status === 200; status = answers.at(-1)?.status ?? 0)
      answers.push(await post(gateway, '/v1/messages', asking('opal-medium')));
    const spent = answers.slice(0, -1);
    expect(spent.length).toBeGreaterThan(0);
    expect(answers.at(-1)?.status).toBe(402);
    const held = heldIn((await get(gateway, '/me')).body);
    expect(held).toBeGreaterThan(0);
    await gateway.gateway.stop();
    const again = await startAgain(gateway, log);
    await again.gateway.whenReady();
    expect(heldIn((await get(again, '/me')).body)).toBe(held);
    expect((await post(again, '/v1/messages', asking('opal-medium'))).status).toBe(402);
    log.comeBack();
    await expect.poll(async () => heldIn((await get(again, '/me')).body)).toBe(0);
    expect((await usagesIn(log)).toSorted()).toEqual(spent.map(requestIdOf).toSorted());
  });

  it('by a clock that is behind its views admits nothing until that has been steady for a minute, and for 5 minutes then', async () => {
    const { log, gateway } = await start();
    expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
    await gateway.gateway.stop();
    await log.goAway();
    clock.nowMs -= 3 * 86_400_000;
    const again = await startAgain(gateway, log);
    const doubted = async () => refusalOf(await post(again, '/v1/messages', asking('svc-mock')), 529);
    await expect
      .poll(doubted)
      .toMatch(/is 3 days behind the time at which the views were last current; nothing is admitted/);
    clock.nowMs += LIMITS.clockSteadyMs;
    await again.gateway.whenReady();
    expect((await post(again, '/v1/messages', asking('svc-mock'))).status).toBe(200);
    clock.nowMs += LIMITS.viewsAgeMs;
    expect(await doubted()).toMatch(/the views are older than the 300 s of projections.maxAgeMs/);
  });

  it('and whose folder may have a copy serves what costs nothing, until it has claimed its name', async () => {
    const eventLog = { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:1?tls=false' };
    const { log, gateway } = await start(undefined, { proxies: 'one', eventLog });
    await log.goAway();
    // It had its claim when the log went away.
    expect((await post(gateway, '/v1/messages', asking('opal-medium'))).status).toBe(200);
    await gateway.gateway.stop();
    const again = await startAgain(gateway, log);
    await again.gateway.whenReady();
    const reason = 'this gateway could not yet claim its name in the event log';
    expect(refusalOf(await post(again, '/v1/messages', asking('opal-medium')), 529)).toBe(reason);
    expect((await post(again, '/v1/messages', asking('svc-mock'))).status).toBe(200);
    const degraded = expect.stringContaining(reason);
    expect(await call(again.url, '/readyz')).toMatchObject({ status: 200, body: { ok: true, degraded } });
    log.comeBack();
    await expect.poll(async () => (await post(again, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  });

  it('and has no views refuses everybody, also whose key it cannot know yet, until the log is there', async () => {
    const { log, gateway } = await start();
    const config = { data: temporaryFolder(), key: gateway.key };
    await log.goAway();
    const configuration = readConfiguration({
      file: join(gateway.data, 'gateway.json'),
      data: config.data,
      environment: {},
      callsProviders: true,
    });
    const logger = pino({ level: 'silent' });
    const fresh = endedLater(
      await Gateway.start({
        configuration,
        log,
        logger,
        clock: () => clock.nowMs,
        monotonic: () => clock.nowMs,
      }),
    );
    const target = { url: fresh.url, key: gateway.key };
    expect(refusalOf(await post(target, '/v1/messages', asking('svc-mock')), 529)).toMatch(/catching up/);
    expect((await call(fresh.url, '/readyz')).status).toBe(503);
    log.comeBack();
    await fresh.whenReady();
    expect((await post(target, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  });
});

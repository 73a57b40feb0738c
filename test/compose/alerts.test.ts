import { cpSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { accountStream, eventId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { sealKeyFile } from '../../ledger/seals/seal-keys.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { restartableStore } from '../eventstoredb/restartable-store.ts';
import { StoredLog } from '../eventstoredb/stored-log.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, type Callable, post } from '../fixtures/gateway/call.ts';
import { inOwnProcess, type OwnProcess, type OwnProcessOptions } from '../fixtures/gateway/own-process.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../fixtures/gateway/start-gateway.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { toVersion6 } from '../fixtures/ledger/older-views.ts';
import { newId } from '../fixtures/ledger/shared-log.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { killAtOnce } from '../fixtures/processes/child-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { json, reset } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream } from '../upstream/upstream.ts';
import { AlertGroup } from './alert-group.ts';
import { composePath } from './compose-file.ts';
import { hasPromtool, promtool, RULES } from './promtool.ts';
import { type Page, type Scraped, scrape } from './scrape.ts';

const METRICS = { metrics: { serve: { port: 0 } }, seals: { events: 1 } };
const upstream = endedLater(await startUpstream(), afterAll);

async function start(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const settings = { ...METRICS, ...options.settings };
  return endedLater(await startTestGateway({ upstreamUrl: upstream.url, ...options, settings }));
}

/** The same in a process of its own. */
async function startAlone(options: TestGatewayOptions = {}, how: OwnProcessOptions = {}): Promise<OwnProcess> {
  const settings = { ...METRICS, ...options.settings };
  const begun = await startTestGateway({ upstreamUrl: upstream.url, ...options, settings });
  await begun.stop();
  return inOwnProcess(begun, how);
}

const moduleAt = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const KILLED_REBUILD = moduleAt('killed-rebuild-preload.ts');

/** A process whose clocks go by what is written: by how much the wall clock jumps, and what goes by for all of them. */
function movedClock() {
  const file = join(temporaryFolder(), 'clock');
  const move = ({ jumpedMs = 0, passedMs = 0 }) => writeFileSync(file, `${jumpedMs} ${passedMs}`);
  move({});
  const preload = moduleAt('../fixtures/processes/moved-clock-preload.ts');
  return { move, how: { preload, environment: { MOVED_CLOCK_FILE: file } } };
}

type Served = TestGateway | OwnProcess;
const scraped = (one: Served): Promise<Page> => scrape('program' in one ? one.metricsUrl : one.gateway.metricsUrl);

/**
 * Once all that stands in the ledger is sealed, as it is by itself a minute later, and a machine that is busy with other
 * tests has given the gateway its turns.
 */
const page = (one: Served): Promise<Page> => pageThat(one, (page) => isSealed(page) && isCalm(page));
/** The same where nothing seals. */
const calmPage = (one: Served): Promise<Page> => pageThat(one, isCalm);

async function pageThat(one: Served, is: (page: Page) => boolean): Promise<Page> {
  let page: Page = null;
  const look = async (): Promise<boolean> => {
    page = await scraped(one);
    return is(page);
  };
  await expect.poll(look).toBe(true);
  return page;
}
const isSealed = (page: Page): boolean => /^gateway_events_unsealed 0$/m.test(page ?? '');
const isLogThere = (page: Page): boolean => sampleOf('gateway_event_log_up', page) === 1;
const isCalm = (page: Page): boolean => sampleOf('gateway_event_loop_delay_seconds', page) <= LOOP_CALM_S;
const LOOP_CALM_S = LIMITS.loopDelayCalmMs / 1_000;
const sampleOf = (name: string, page: Page): number =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page ?? '')?.[1] ?? Number.NaN);

const ask = (one: Callable, model = 'svc-mock') => post(one, '/v1/messages', asking(model));
async function askOften(one: Callable, times: number, model?: string): Promise<void> {
  for (let time = 0; time < times; time++) await ask(one, model);
}

/** On an event store nothing seals: the gateway has no key. */
const ON_STORE = ['SealsBehind'];

/** In a process of its own, on an event store. */
async function startOnStore(connectionString: string, more: object = {}): Promise<OwnProcess> {
  const log = endedLater(await openEventStoreDbEventLog({ connectionString }));
  return startAlone({ log, settings: { ...more, eventLog: { kind: 'eventstoredb', connectionString } } });
}

/** As long as the alert looks back and waits, with each page for a minute. */
const MINUTES_OF_FILLING = 21;
/** So many times, a few at once. */
const askAtOnce = async (one: Callable, times: number): Promise<void> =>
  void (await Promise.all([1, 2, 3, 4].map(() => askOften(one, times / 4))));

/** Longer than what it has its turns for between two such: its loop is late on the average of each second. */
const STANDS_STILL_MS = 2_000;

const group = new AlertGroup('gateway');
/** Where it goes on as it did between the two pages. */
const expectFiring: AlertGroup['expectFiring'] = (...fires) => group.expectFiring(...fires);

const one = (before: Page, after: Page): readonly Scraped[] => [{ job: 'gateway', before, after }];
/** As it is, for good. */
const still = (after: Page): readonly Scraped[] => one(after, after);

/** The same over a gateway that may write no more: what it has not sealed by then stays so. */
async function expectFiringUnsealed(alerts: readonly string[], one: Served): Promise<void> {
  const after = await pageThat(one, isCalm);
  expectFiring([...alerts, ...unsealedIn(after)], still(after));
}
const unsealedIn = (page: Page): string[] => (isSealed(page) ? [] : ['SealsBehind']);

/**
 * The same over a gateway whose disk is full. Its ledger is on that disk, too, and takes nothing then: the gateway has found that
 * once something that was to be appended has failed often enough, which its journal may have had the room for or not.
 */
async function expectFiringFull(alerts: readonly string[], one: Served): Promise<void> {
  const after = await pageThat(one, isCalm);
  const away = isLogThere(after) ? [] : ['LedgerAway'];
  expectFiring([...alerts, ...away, ...unsealedIn(after)], still(after));
}

/** Of the machine that the tests run on: over such a disk no gateway is healthy. */
const { bavail, blocks } = statfsSync(tmpdir());
const isDiskFilling = bavail <= 0.1 * blocks;
if (isDiskFilling) console.info('skipped: alerts (the disk of this machine is nearly full)');

describe.skipIf(!hasPromtool || isDiskFilling)('alerts of compose.yaml', () => {
  it('are rules that Prometheus takes, as is its configuration', () => {
    for (const args of [
      ['check', 'rules', composePath('alerts.yaml')],
      ['check', 'config', composePath('prometheus.yaml')],
    ])
      expect(promtool(...args)).toMatchObject({ status: 0 });
  });

  it.each(RULES)('say who is to come, what is amiss and what to run next: $alert', ({ labels, annotations }) => {
    expect(labels.severity).toMatch(/^(page|ticket)$/);
    expect(annotations.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(annotations.runbook).toMatch(/`[^`]+`/);
  });

  it('are silent over a healthy gateway with traffic, also where callers ask for what is not there', async () => {
    const gateway = await startAlone();
    upstream.answerWith(json(message()));
    await askOften(gateway, 2);
    const before = await page(gateway);
    await askOften(gateway, 3, 'opal-medium');
    upstream.answerWith(json({ error: { type: 'invalid_request_error', message: 'no' } }, { status: 400 }));
    await askOften(gateway, 3, 'opal-medium');
    await askOften(gateway, 3, 'no-such-model');
    expectFiring([], one(before, await page(gateway)));
  });

  it('tell of a gateway that is gone', async () => {
    const gateway = await startTestGateway({ settings: METRICS });
    const before = await page(gateway);
    await gateway.stop();
    const after = await scrape(gateway.gateway.metricsUrl);
    expect(after).toBeNull();
    expectFiring(['GatewayDown'], one(before, after));
    expectFiring(['GatewayDown'], []);
  });

  it('tell of a log that is away, of views that grow old by it, and of what waits for it', async () => {
    const clock = { nowMs: Date.now() };
    const log = new LogWithOutages();
    const gateway = await start({ log, clock: () => clock.nowMs });
    const before = await page(gateway);
    await log.goAway();
    expectFiring(['LedgerAway'], still(await page(gateway)));
    await askOften(gateway, 300);
    clock.nowMs += 90_000;
    expectFiring(['LedgerAway', 'ViewsBehind', 'SettlementsWaiting'], one(before, await page(gateway)));
    clock.nowMs += 300_000;
    expectFiring(['NotAdmitting', 'LedgerAway', 'ViewsBehind', 'SettlementsWaiting'], still(await page(gateway)));
    log.comeBack();
    await gateway.gateway.process.settlement.idle();
  });

  it('tell of a gateway that ends again and again, and is started each time', async () => {
    const first = await startAlone();
    const before = await page(first);
    await killAtOnce(first.program);
    const after = await page(await inOwnProcess(first));
    expectFiring(['GatewayRestarting'], one(before, after), ['gateway_process_start_time_seconds']);
  });

  it('tell of upstreams that fail', async () => {
    const gateway = await start();
    upstream.answerWith(json(message()));
    await askOften(gateway, 3, 'opal-medium');
    const before = await page(gateway);
    upstream.answerWith([reset]);
    await askOften(gateway, 2, 'opal-medium');
    expectFiring(['UpstreamFailing'], one(before, await page(gateway)));
  });

  it('tell of an upstream that nobody reaches', async () => {
    const gateway = await start({ upstreamUrl: 'http://127.0.0.1:1' });
    const before = await page(gateway);
    await askOften(gateway, 2, 'opal-medium');
    expectFiring(['UpstreamFailing'], one(before, await page(gateway)));
  });

  it('tell of an event loop that is late, as where a process gets too little of a processor', async () => {
    const gateway = await startAlone();
    expectFiring([], still(await page(gateway)));
    const { child } = gateway.program;
    let after: Page = null;
    const look = async (): Promise<number> => {
      child.kill('SIGSTOP');
      await delay(STANDS_STILL_MS);
      child.kill('SIGCONT');
      after = await scraped(gateway);
      return sampleOf('gateway_event_loop_delay_seconds', after);
    };
    await expect.poll(look).toBeGreaterThan(0.25);
    const shed = sampleOf('gateway_shedding', after) === 1 ? ['NotAdmitting'] : [];
    expectFiring([...shed, 'EventLoopLate'], still(after));
    // It has its turns again.
    expectFiring([], still(await page(gateway)));
  });

  it('tell of a name that another process has', async () => {
    const log = endedLater(new MemoryEventLog());
    const settings = { proxies: 'many' };
    const gateway = await start({ log, settings });
    const copy = join(temporaryFolder(), 'copy');
    cpSync(gateway.data, copy, { recursive: true });
    await start({ log, settings, data: copy });
    await expect.poll(() => scrape(gateway.gateway.metricsUrl)).toMatch(/^gateway_fenced 1$/m);
    await expectFiringUnsealed(['NotAdmitting', 'NameTaken'], gateway);
  });

  it('tell of requests that an event store never takes as they are, and of nothing more once it does and the gateway is restarted', async () => {
    const store = await restartableStore();
    const gateway = await startOnStore(store.connectionString);
    const open = async (one: OwnProcess) => sampleOf('gateway_journal_open_requests', await scraped(one));
    await ask(gateway);
    await expect.poll(() => open(gateway)).toBe(0);
    // Less than a request's events, as where somebody has lowered its MaxAppendSize.
    await store.restart(512);
    expect((await ask(gateway)).status).toBe(200);
    await expect.poll(() => scraped(gateway)).toMatch(/^gateway_settlements_stuck 1$/m);
    await expect.poll(() => scraped(gateway)).toMatch(/^gateway_event_log_up 1$/m);
    expectFiring(['SettlementsStuck', ...ON_STORE], still(await calmPage(gateway)));
    expect(gateway.logged()).toContain('cannot be settled');
    await store.restart();
    await killAtOnce(gateway.program);
    const again = await inOwnProcess(gateway);
    await expect.poll(() => open(again)).toBe(0);
    expectFiring(ON_STORE, still(await calmPage(again)));
  });

  it('tell of a journal that fills while the event store is away and requests go on, and of nothing more once it is back', async () => {
    const store = await restartableStore();
    const gateway = await startOnStore(store.connectionString, { journal: { maxBytes: 64 * 1024 ** 2 } });
    await ask(gateway);
    await store.kill();
    const pages: Page[] = [];
    while (pages.length < MINUTES_OF_FILLING) {
      await askAtOnce(gateway, 400);
      pages.push(await calmPage(gateway));
    }
    const [before = null, after = null] = [pages[0], pages.at(-1)];
    const filling: Scraped = { job: 'gateway', before, between: pages.slice(1, -1), after };
    expectFiring(['LedgerAway', 'SettlementsWaiting', 'JournalFilling', ...ON_STORE], [filling]);
    await store.restart();
    await expect.poll(() => scraped(gateway)).toMatch(/^gateway_settlements_pending 0$/m);
    await expect.poll(() => scraped(gateway)).toMatch(/^gateway_event_log_up 1$/m);
    expectFiring(ON_STORE, still(await calmPage(gateway)));
  });

  it('tell of a disk that is nearly full, and of one that is', async ({ skip }) => {
    skip(!canMount, 'no disk can be mounted here');
    const disk = smallDisk(64 * 1_024);
    const data = join(dirname(disk.folder), 'data');
    mkdirSync(data);
    const gateway = await start({ data });
    expectFiring([], still(await page(gateway)));
    disk.leaveFree(6 * 1_024 ** 2);
    expectFiring(['DiskFilling'], still(await page(gateway)));
    disk.leaveFree(0);
    while ((await ask(gateway)).status === 200);
    await expectFiringFull(['NotAdmitting', 'DiskFilling', 'MachineShort'], gateway);
    disk.clear();
    await gateway.gateway.process.settlement.idle();
  });

  it('tell of a gateway that can take down no usage for a minute', async ({ skip }) => {
    skip(!canMount, 'no disk can be mounted here');
    const disk = smallDisk(64 * 1_024);
    const data = join(dirname(disk.folder), 'data');
    mkdirSync(data);
    const { move, how } = movedClock();
    const gateway = await startAlone({ data }, how);
    disk.leaveFree(0);
    while ((await ask(gateway)).status === 200);
    await expectFiringFull(['NotAdmitting', 'DiskFilling', 'MachineShort'], gateway);
    move({ passedMs: LIMITS.unhealthyAfterMs });
    await expect.poll(() => scraped(gateway)).toMatch(/^gateway_healthy 0$/m);
    await expectFiringFull(['NotAdmitting', 'Unhealthy', 'DiskFilling', 'MachineShort'], gateway);
    disk.clear();
    await expect.poll(() => scraped(gateway)).toMatch(/^gateway_machine_short 0$/m);
    expectFiring([], still(await pageThat(gateway, (page) => isSealed(page) && isCalm(page) && isLogThere(page))));
  });

  it('tell of events that nobody seals, for want of a key or for another reason', async () => {
    const data = temporaryFolder();
    writeFileSync(sealKeyFile(data), 'no key');
    const keyless = await start({ data });
    await expect.poll(() => scrape(keyless.gateway.metricsUrl)).toMatch(/^gateway_events_unsealed \+?Inf/m);
    expectFiring(['SealsBehind'], still(await scrape(keyless.gateway.metricsUrl)));
    const slow = await start({ settings: { seals: { events: 10_000, afterMs: 3_600_000 } } });
    await expect.poll(() => scrape(slow.gateway.metricsUrl)).toMatch(/^gateway_events_unsealed [1-9]/m);
    expectFiring(['SealsBehind'], still(await scrape(slow.gateway.metricsUrl)));
  });

  it('tell of an account that is set aside', async () => {
    const log = endedLater(new MemoryEventLog());
    const gateway = await start({ log });
    const { revision } = gateway.gateway.process.projections.accounts.read(gateway.accountId);
    const unknown = { id: eventId(newId()), type: 'OrderPlaced', data: '{}', metadata: '{}' };
    await log.append(accountStream(gateway.accountId), revision, [unknown]);
    await expect.poll(() => scrape(gateway.gateway.metricsUrl)).toMatch(/^gateway_accounts_set_aside 1$/m);
    expectFiring(['AccountsSetAside'], still(await page(gateway)));
  });

  it('tell of a product that no account of the ledger has', async () => {
    const own = await startTestGateway();
    await own.stop();
    const gateway = await start({ data: own.data, settings: { product: 'chat' } });
    expectFiring(['ProductUnserved'], still(await page(gateway)));
  });

  it('tell of views of an earlier version whose rebuild is killed each time', async () => {
    const before = await startTestGateway({ settings: METRICS });
    await before.stop();
    toVersion6(viewFilesOf(before.data).live);
    const file = join(temporaryFolder(), 'killed');
    writeFileSync(file, '');
    const environment = { NODE_OPTIONS: `--import=${KILLED_REBUILD}`, KILLED_REBUILD_FILE: file };
    const gateway = await inOwnProcess(before, { environment });
    await expect.poll(() => page(gateway)).toMatch(/^gateway_views_rebuilds_failed [1-9]/m);
    expect(gateway.logged()).toContain('it ended with SIGKILL');
    expectFiring(['ViewsNotRebuilt'], still(await page(gateway)));
    rmSync(file);
    await expect.poll(() => page(gateway)).toMatch(/^gateway_views_rebuilds_failed 0$/m);
    expectFiring([], still(await page(gateway)));
  });

  it('tell of a clock that is off the one of the log, also where requests are admitted yet', async () => {
    const stored = new StoredLog({ now: () => Date.now() - 7_000 });
    const { connectionString } = endedLater(await startFakeEventStore({ log: stored }));
    const gateway = await startOnStore(connectionString);
    expect((await ask(gateway)).status).toBe(200);
    expectFiring(['ClockOff', ...ON_STORE], still(await calmPage(gateway)));
  });

  it('tell of a clock that has jumped, until it has been steady for a minute', async () => {
    const { move, how } = movedClock();
    const gateway = await startAlone({}, how);
    await page(gateway);
    move({ jumpedMs: 60_000 });
    await expect.poll(() => scraped(gateway)).toMatch(/^gateway_clock_steady 0$/m);
    await expectFiringUnsealed(['NotAdmitting', 'ClockOff'], gateway);
    move({ jumpedMs: 60_000, passedMs: 60_000 });
    await expect.poll(() => scraped(gateway)).toMatch(/^gateway_clock_steady 1$/m);
    expectFiring([], still(await page(gateway)));
  });

  it('tell of usage beyond its hold', async () => {
    const gateway = await start();
    upstream.answerWith(json(message({ tokens: { input: 1, output: 1e12 } })));
    await ask(gateway, 'opal-medium');
    await gateway.gateway.process.settlement.idle();
    await expect.poll(() => page(gateway)).toMatch(/^gateway_exceptions_open 1$/m);
    expectFiring(['ExceptionsOpen'], still(await page(gateway)));
  });

  it('have all fired here', (context) => {
    expect(group.silentIn(context)).toEqual(canMount ? [] : ['Unhealthy', 'DiskFilling', 'MachineShort']);
  });
});

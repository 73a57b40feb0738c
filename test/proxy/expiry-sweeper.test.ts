import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { grantId, keyId, leaseId, proxyId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { microUsd } from '../../contracts/money.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { ExpirySweeper } from '../../proxy/expiry-sweeper.ts';
import { Holds } from '../../proxy/holds.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { requestIdFromUuid } from '../fixtures/ledger/request-of-uuid.ts';

const BORN_MS = Date.parse('2026-11-21T12:00:00.000Z');
const EXPIRES_MS = BORN_MS + 60_000;
const LATE_MS = LIMITS.expiryLateMs;
const REQUEST = requestIdFromUuid('019a5b3c-0000-7000-8000-00000000000a');

let nowMs: number;
let mayWrite: boolean;
let gateway: TestGateway;
let closeLog: () => Promise<void>;
let holds: Holds;
let sweeper: ExpirySweeper;
let startAgain: () => Promise<void>;

/** Which log the test's gateway has, and what ends it. */
type OpenLog = () => Promise<{ readonly log?: EventLog; readonly close: () => Promise<void> }>;
const LOGS: readonly (readonly [kind: string, open: OpenLog])[] = [
  ['sqlite', async () => ({ close: async () => undefined })],
  [
    'eventstoredb',
    async () => {
      const store = await startFakeEventStore();
      const log = await openEventStoreDbEventLog({ connectionString: store.connectionString });
      const close = async (): Promise<void> => {
        await log.close();
        await store.stop();
      };
      return { log, close };
    },
  ],
];

async function begin(open: OpenLog): Promise<void> {
  nowMs = BORN_MS;
  mayWrite = true;
  const clock = () => nowMs;
  const { log, close } = await open();
  closeLog = close;
  const options = { clock, ...(log === undefined ? {} : { log }) };
  gateway = await startTestGateway(options);
  await gateway.command({
    type: 'GrantCredits',
    grantId: grantId('grant_short'),
    source: 'promotion',
    amount: microUsd(7n),
    costBasis: microUsd(0n),
    priority: 1,
    effectiveAtMs: nowMs,
    expiresAtMs: EXPIRES_MS,
  });
  startSweeper();
  startAgain = async () => {
    await sweeper.close();
    await gateway.stop();
    gateway = await startTestGateway({ ...options, data: gateway.data });
    startSweeper();
  };
}
function startSweeper(): void {
  holds = new Holds();
  sweeper = new ExpirySweeper({
    log: gateway.log,
    accounts: gateway.gateway.process.projections.accounts,
    holds,
    clock: () => nowMs,
    lateMs: LATE_MS,
    mayWrite: () => mayWrite,
    logger: pino({ level: 'silent' }),
  });
}
afterEach(async () => {
  await sweeper.close();
  await gateway.stop();
  await closeLog();
});

const expired = async () => (await gateway.events()).filter((event) => event.type === 'CreditsExpired');
const WRITTEN = {
  type: 'CreditsExpired',
  data: { grantId: 'grant_short', amount: 7n, expiredAt: '2026-11-21T12:01:00.000Z' },
};

describe.each(LOGS)('over %s, expired credits', (_kind, open) => {
  beforeEach(() => begin(open));

  it('are written down once, a week late', async () => {
    nowMs = EXPIRES_MS + LATE_MS - 1;
    expect(await sweeper.sweep()).toBe(0);
    nowMs += 1;
    expect(await sweeper.sweep()).toBe(1);
    expect(await sweeper.sweep()).toBe(0);
    expect(await expired()).toEqual([WRITTEN]);
  });

  it('are looked for every ten minutes', async () => {
    await sweeper.close();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    startSweeper();
    nowMs = EXPIRES_MS + LATE_MS;
    vi.advanceTimersByTime(10 * 60_000 - 1);
    const before = (await expired()).length;
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await sweeper.close();
    expect([before, await expired()]).toEqual([0, [WRITTEN]]);
  });

  it('are written down, too, of an account that nobody has asked for since the start', async () => {
    await startAgain();
    expect([...gateway.gateway.process.projections.accounts.balance.loaded()]).toEqual([]);
    nowMs = EXPIRES_MS + LATE_MS;
    expect(await sweeper.sweep()).toBe(1);
    expect(await expired()).toEqual([WRITTEN]);
  });

  it('of an account whose row cannot be read are left: the views have told it, and nobody else is harmed', async () => {
    await startAgain();
    const { balance } = gateway.gateway.process.projections.accounts;
    const failed = new Error('the row cannot be read');
    balance.restore({
      all: () => [],
      of: () => {
        throw failed;
      },
    });
    nowMs = EXPIRES_MS + LATE_MS;
    expect(await sweeper.sweep()).toBe(0);
    await sweeper.close();
  });

  it('are not written down while nothing final may be', async () => {
    nowMs = EXPIRES_MS + LATE_MS;
    mayWrite = false;
    expect(await sweeper.sweep()).toBe(0);
    expect(await expired()).toEqual([]);
    mayWrite = true;
    expect(await sweeper.sweep()).toBe(1);
  });

  it('are not written down while a request of the account is under way here', async () => {
    const { accountId } = gateway;
    holds.place(REQUEST, {
      accountId,
      keyId: keyId('k'),
      month: '2026-11',
      amount: microUsd(1n),
      leaseId: null,
      startedAtMs: 0,
    });
    nowMs = EXPIRES_MS + LATE_MS;
    expect(await sweeper.sweep()).toBe(0);
    holds.release(REQUEST);
    expect(await sweeper.sweep()).toBe(1);
  });

  it('are not written down while a proxy has a lease of before their end in the account', async () => {
    const terms = { epoch: 1, keyId: null, upTo: microUsd(5n), requestsBeforeMs: null, othersAheadMs: 0 };
    const lease = { proxy: proxyId('gw-2'), leaseId: leaseId('lease_gw-2'), ...terms };
    nowMs = EXPIRES_MS - 1;
    await gateway.command({ type: 'LeaseCredits', ...lease, expiresAtMs: EXPIRES_MS + LATE_MS + 1_000, nowMs });
    nowMs = EXPIRES_MS + LATE_MS;
    expect(await sweeper.sweep()).toBe(0);
    nowMs += 1_000;
    expect(await sweeper.sweep()).toBe(0);
    nowMs += LATE_MS;
    expect(await sweeper.sweep()).toBe(1);
  });
});

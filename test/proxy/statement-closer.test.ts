import pino from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent, EventData } from '../../contracts/events.ts';
import {
  type AccountId,
  accountId,
  accountStream,
  grantId,
  keyId,
  leaseId,
  proxyId,
  requestId,
  revision,
} from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { microUsd } from '../../contracts/money.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { Holds } from '../../proxy/holds.ts';
import { StatementCloser } from '../../proxy/statement-closer.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { granted, opened } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';

const BORN_MS = Date.parse('2026-11-21T12:00:00.000Z');
const DUE_MS = Date.parse('2026-12-01T00:00:00.000Z') + LIMITS.statementGraceMs;

let nowMs: number;
let mayWrite: boolean;
let gateway: TestGateway;
let closers: StatementCloser[];

function closerOf(holds = new Holds(), logger = pino({ level: 'silent' })): StatementCloser {
  const closer = new StatementCloser({
    log: gateway.log,
    accounts: gateway.gateway.process.projections.accounts,
    holds,
    clock: () => nowMs,
    graceMs: LIMITS.statementGraceMs,
    mayWrite: () => mayWrite,
    logger,
  });
  closers.push(closer);
  return closer;
}

const grant = (id: string, amount: bigint, expiresAtMs: number | null = null): Promise<void> =>
  gateway.command({
    ...{ type: 'GrantCredits', grantId: grantId(id), source: 'promotion', amount: microUsd(amount) },
    ...{ costBasis: microUsd(0n), priority: 1, effectiveAtMs: nowMs, expiresAtMs },
  });

async function statements(id?: AccountId): Promise<EventData<'StatementClosed'>[]> {
  const events = await gateway.events(id);
  return events.flatMap((event) => (event.type === 'StatementClosed' ? [event.data] : []));
}

/** With credits to try it out, or none. */
const open = (id: string, trial = 0n): Promise<void> =>
  gateway.command(
    {
      ...{ type: 'OpenAccount', accountId: accountId(id), kind: 'personal', email: 'e@example.com' },
      ...{ trial: microUsd(trial), trialGrantId: grantId(`of-${id}`), nowMs },
    },
    accountId(id),
  );

/** What it closes, and the views have folded. */
async function closeDue(closer: StatementCloser): Promise<number> {
  const closed = await closer.closeDue();
  await gateway.events();
  return closed;
}

beforeEach(async () => {
  nowMs = BORN_MS;
  mayWrite = true;
  closers = [];
  gateway = await startTestGateway({ clock: () => nowMs, creditsMicroUsd: 500n });
});
afterEach(async () => {
  for (const closer of closers) await closer.close();
  await gateway.stop();
});

it('closes a month once, three days after its end, by whichever of two closers is first', async () => {
  const [one, other] = [closerOf(), closerOf()];
  nowMs = DUE_MS - 1;
  expect(await closeDue(one)).toBe(0);
  nowMs = DUE_MS;
  const closed = await Promise.all([one.closeDue(), other.closeDue()]);
  expect(closed.reduce((sum, count) => sum + count)).toBe(1);
  expect(await statements()).toEqual([
    expect.objectContaining({ month: '2026-11', opening: 0n, granted: 500n, closing: 500n, product: 'gateway' }),
  ]);
});

it('looks every ten minutes by itself, and a look that is begun comes to its end', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const closer = closerOf();
  nowMs = DUE_MS;
  vi.advanceTimersByTime(10 * 60_000 - 1);
  const before = (await statements()).length;
  vi.advanceTimersByTime(1);
  vi.useRealTimers();
  await closer.close();
  expect([before, await statements()]).toEqual([0, [expect.objectContaining({ month: '2026-11' })]]);
});

it('writes nothing while nothing final may be written, as after a jump of the clock', async () => {
  const closer = closerOf();
  nowMs = DUE_MS;
  mayWrite = false;
  expect(await closeDue(closer)).toBe(0);
  expect(await statements()).toEqual([]);
  mayWrite = true;
  expect(await closeDue(closer)).toBe(1);
});

it('waits for the requests of the month, and for none of later ones, which a busy account always has', async () => {
  const holds = new Holds();
  const closer = closerOf(holds);
  const endMs = DUE_MS - LIMITS.statementGraceMs;
  const hold = { accountId: gateway.accountId, keyId: keyId('key'), amount: microUsd(1n), leaseId: null };
  holds.place(requestId('of-before'), { ...hold, month: '2026-11', startedAtMs: endMs - 1 });
  holds.place(requestId('of-after'), { ...hold, month: '2026-12', startedAtMs: endMs });
  nowMs = DUE_MS;
  expect(await closeDue(closer)).toBe(0);
  holds.release(requestId('of-before'));
  expect(await closeDue(closer)).toBe(1);
});

it('writes down first what has expired in the month, also where its gateway would yet wait with that', async () => {
  const closer = closerOf();
  await grant('short', 7n, Date.parse('2026-11-30T12:00:00.000Z'));
  nowMs = DUE_MS;
  expect(await closeDue(closer)).toBe(1);
  expect(await statements()).toEqual([expect.objectContaining({ granted: 507n, expired: 7n, closing: 500n })]);
});

it('closes a month of which only an expiry is, once, after months of rest, also behind a restart, and looks at nobody before', async () => {
  const due = (month: string): AccountId[] => [...gateway.gateway.process.projections.accounts.unclosed.upTo(month)];
  await grant('short', 7n, Date.parse('2027-02-15T12:00:00.000Z'));
  await grant('longer', 8n, Date.parse('2027-04-30T23:59:59.999Z'));
  nowMs = DUE_MS;
  expect(await closeDue(closerOf())).toBe(1);
  nowMs = Date.parse('2027-01-05T00:00:00.000Z');
  expect(await closeDue(closerOf())).toBe(0);
  expect(due('2027-01')).toEqual([]);
  nowMs = Date.parse('2027-03-04T00:00:00.000Z') - 1;
  expect(await closeDue(closerOf())).toBe(0);
  nowMs++;
  const both = await Promise.all([closerOf().closeDue(), closerOf().closeDue()]);
  expect(both.toSorted()).toEqual([0, 1]);
  nowMs = Date.parse('2027-04-05T00:00:00.000Z');
  expect(await closeDue(closerOf())).toBe(0);
  expect(due('2027-03')).toEqual([]);
  await gateway.stop();
  nowMs = Date.parse('2027-05-03T23:59:59.999Z');
  gateway = await startTestGateway({ clock: () => nowMs, data: gateway.data });
  expect(await closeDue(closerOf())).toBe(0);
  nowMs++;
  expect(await closeDue(closerOf())).toBe(1);
  expect((await statements()).map(({ month, expired, closing }) => [month, expired, closing])).toEqual([
    ['2026-11', 0n, 515n],
    ['2027-02', 7n, 508n],
    ['2027-04', 8n, 500n],
  ]);
});

it('says each time what stands in the way of a statement that is due', async () => {
  const told: unknown[] = [];
  const closer = closerOf(new Holds(), pino({ level: 'error' }, { write: (line) => void told.push(JSON.parse(line)) }));
  await grant('short', 7n, Date.parse('2026-11-30T12:00:00.000Z'));
  nowMs = Date.parse('2026-11-30T11:00:00.000Z');
  const terms = { proxy: proxyId('another'), epoch: 1, keyId: null, requestsBeforeMs: null, othersAheadMs: 0 };
  const lease = { type: 'LeaseCredits', leaseId: leaseId('lease'), ...terms, upTo: microUsd(9n), nowMs } as const;
  await gateway.command({ ...lease, expiresAtMs: DUE_MS });
  nowMs = DUE_MS;
  for (const times of [1, 2]) {
    expect(await closeDue(closer)).toBe(0);
    expect(told).toHaveLength(times);
  }
  const { accountId } = gateway;
  expect(told[0]).toMatchObject({
    accounts: [{ accountId, month: '2026-11', why: expect.stringContaining('not written down as expired') }],
    ...{ count: 1, msg: 'statements that are due are not closed' },
  });
  await gateway.command({ type: 'ReleaseLease', leaseId: lease.leaseId, amount: lease.upTo });
  expect(await closeDue(closer)).toBe(1);
  expect(told).toHaveLength(2);
});

it('goes on after a restart, each month with events by its own statement, and months without with the next', async () => {
  const closer = closerOf();
  nowMs = DUE_MS;
  expect(await closeDue(closer)).toBe(1);
  nowMs = Date.parse('2027-02-10T00:00:00.000Z');
  await grant('later', 30n);
  expect(await closeDue(closer)).toBe(0);
  nowMs = Date.parse('2027-04-10T00:00:00.000Z');
  await grant('latest', 4n);
  await gateway.stop();
  gateway = await startTestGateway({ clock: () => nowMs, data: gateway.data });
  // At once: it may be stopped before the next look.
  await expect.poll(() => statements()).toHaveLength(2);
  const again = closerOf();
  expect(await closeDue(again)).toBe(0);
  nowMs = Date.parse('2027-05-04T00:00:00.000Z');
  expect(await closeDue(again)).toBe(1);
  expect((await statements()).map(({ month, opening, closing }) => [month, opening, closing])).toEqual([
    ['2026-11', 0n, 500n],
    ['2027-02', 500n, 530n],
    ['2027-04', 530n, 534n],
  ]);
});

it('looks at no account that has rested since its statement, and at others once a month', async () => {
  const { unclosed } = gateway.gateway.process.projections.accounts;
  const closer = closerOf();
  const due = (month: string): AccountId[] => [...unclosed.upTo(month)];
  nowMs = DUE_MS;
  await open('empty');
  expect(due('2026-11')).toHaveLength(2);
  expect(await closeDue(closer)).toBe(1);
  expect(due('2026-11')).toEqual([]);
  // The next month's look finds that nothing came; in the empty one nothing ever has, and it is not looked at again.
  nowMs = Date.parse('2027-01-05T00:00:00.000Z');
  expect(await closeDue(closer)).toBe(0);
  expect(due('2099-01')).toEqual([]);
});

it('looks after a start only at accounts that may have what is of a month that is over, and keeps none in memory for it', async () => {
  nowMs = DUE_MS;
  expect(await closeDue(closerOf())).toBe(1);
  nowMs = Date.parse('2027-02-10T00:00:00.000Z');
  await grant('after-months-of-rest', 30n);
  await open('empty');
  await open('new', 7n);
  await gateway.stop();
  gateway = await startTestGateway({ clock: () => nowMs, data: gateway.data });
  const { unclosed, balance } = gateway.gateway.process.projections.accounts;
  await expect.poll(() => [...unclosed.upTo('2027-01')]).toEqual([]);
  expect([...unclosed.upTo('2027-02')]).toEqual([gateway.accountId, 'new']);
  expect([...balance.loaded()]).toEqual([]);
});

it('closes of so many accounts at a time, whose turn also comes behind any number that have nothing to close', async () => {
  const log = new MemoryEventLog();
  const accounts = new AccountViews();
  const recording = recordingBy('test', BORN_MS);
  const write = (id: string, events: readonly AccountEvent[]): void => {
    log.write(accountStream(accountId(id)), encodeEvents(events, recording));
    for (const [at, event] of events.entries()) accounts.fold(accountId(id), revision(at), event);
  };
  const max = LIMITS.statementAccountsMax;
  const openedAt = new Date(BORN_MS).toISOString();
  for (let index = 0; index < 2 * max + 2; index++) {
    const id = `acct-${index}`;
    const birth = { ...opened, data: { ...opened.data, accountId: id, openedAt } } as AccountEvent;
    write(id, index <= max ? [birth] : [birth, granted('g', 7, { effectiveAt: openedAt })]);
  }
  const [logger, mayWrite] = [pino({ level: 'silent' }), () => true];
  const graceMs = LIMITS.statementGraceMs;
  const closer = new StatementCloser({
    log,
    accounts,
    holds: new Holds(),
    clock: () => DUE_MS,
    graceMs,
    mayWrite,
    logger,
  });
  closers.push(closer);
  expect(await closer.closeDue()).toBe(max);
  expect(await closer.closeDue()).toBe(1);
});

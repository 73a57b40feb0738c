import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeRecorded } from '../../../contracts/event-codec.ts';
import type { ReadStreamOptions, RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { attemptId, paymentId, revision, type StreamName } from '../../../contracts/ids.ts';
import { PICO_PER_MICRO, picoUsd } from '../../../contracts/money.ts';
import type { AccountState, Grant } from '../../../ledger/account/account-state.ts';
import type { ClosedStatement } from '../../../ledger/account/billing-state.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { isExpired } from '../../../ledger/account/grants.ts';
import { lastMonthOver } from '../../../ledger/account/month.ts';
import { monthStatement } from '../../../ledger/report/month-statement.ts';
import { isCountedBy, OpenMonths } from '../../../ledger/statement/open-months.ts';
import { accountBooks } from '../../crash/audit/account-books.ts';
import { LIFE_PRICES } from '../../crash/audit/life-prices.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, granted, keyIssued, ms, opened, usageOf, usd } from '../../fixtures/ledger/example-account.ts';
import { liveInTime, lives } from '../../fixtures/ledger/random-life.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

const DAY_MS = 86_400_000;
const WITHOUT_PRICE = 'exceptions: usage without a price';
interface Timed {
  readonly event: AccountEvent;
  readonly atMs: number;
}

/** A life in which months are closed at some places of it, as far as they may be, and at its end. */
function closedLife(life: readonly Timed[], places: readonly number[]): Timed[] {
  const all: Timed[] = [];
  const months = new OpenMonths();
  let state: AccountState = { type: 'unopened' };
  const take = (one: Timed): void => {
    state = evolve(state, one.event);
    months.take(one.event, revision(all.length), new Date(one.atMs).toISOString());
    all.push(one);
  };
  const closeAll = (atMs: number): void => {
    for (
      let month = months.firstUpTo(lastMonthOver(atMs), null);
      month !== null;
      month = months.firstUpTo(lastMonthOver(atMs), null)
    ) {
      const { firstRevision, ...counted } = months.sumsOf(month);
      const sums = counted.sums as CommandOf<'CloseStatement'>['sums'];
      const revisions = { firstRevision: firstRevision ?? 0, lastRevision: all.length - 1 };
      const command = { type: 'CloseStatement', month, later: counted.later, graceMs: 0, nowMs: atMs } as const;
      const decision = decide({ ...command, sums, ...revisions }, state);
      if ('type' in decision) {
        expect(decision.code).toBe('not_written_off');
        return;
      }
      if (decision.length === 0) throw new Error(`${month} is closed already`);
      for (const event of decision) take({ event, atMs });
    }
  };
  for (const [at, one] of life.entries()) {
    take(one);
    if (places.includes(at) && state.type !== 'unopened') {
      // Also in the middle of an append a writer never stands: a debit goes with its usage.
      const next = life[at + 1];
      if (next === undefined || next.atMs > one.atMs) closeAll(one.atMs);
    }
  }
  closeAll((life.at(-1)?.atMs ?? 0) + 40 * DAY_MS);
  return all;
}

const statementsOf = (life: readonly Timed[]): EventData<'StatementClosed'>[] =>
  life.flatMap(({ event }) => (event.type === 'StatementClosed' ? [event.data] : []));

const closedLives = fc
  .tuple(lives, fc.array(fc.nat({ max: 120 }), { maxLength: 6 }))
  .map(([steps, places]) => closedLife(liveInTime(steps), places));

describe('invariants 16 and 17: months: the statements of any life', () => {
  it('are found right by the auditor, and each figure of them that is another is found', () => {
    const found = new Set<string>();
    fc.assert(
      fc.property(closedLives, fc.nat(), fc.nat(), (life, which, at) => {
        expect(aboutStatements(recordedLife(life))).toEqual([]);
        const recorded = recordedLife(life);
        const statements = recorded.filter(({ type }) => type === 'StatementClosed');
        const target = statements[which % Math.max(1, statements.length)];
        if (target === undefined) return;
        const data = JSON.parse(target.data) as Record<string, string | number>;
        const field = Object.keys(data)[at % Object.keys(data).length] ?? '';
        const value = data[field];
        const changed =
          typeof value === 'number' ? value + 1 : /^-?\d+$/.test(value ?? '') ? `${BigInt(value ?? 0) + 1n}` : null;
        const text =
          changed ?? { month: '2019-01', product: 'another', closedAt: '2019-01-05T00:00:00.000Z' }[field] ?? '';
        const others = recorded.map((one) =>
          one === target ? { ...one, data: JSON.stringify({ ...data, [field]: text }) } : one,
        );
        expect(aboutStatements(others), field).not.toEqual([]);
        found.add(field);
      }),
      { numRuns: 300 },
    );
    expect(found.size).toBe(16);
  });

  it('stay as they are, whatever comes after them', () => {
    fc.assert(
      fc.property(closedLives, (life) => {
        const resumed = statementsOf(life).map(({ month }) => month);
        for (const [at, { event }] of life.entries()) {
          if (event.type !== 'StatementClosed') continue;
          // Whoever goes on from a statement, from its first revision, counts what whoever has read all does.
          const [all, on] = [new OpenMonths(), new OpenMonths(lastOf(event.data))];
          for (const [place, one] of life.entries()) {
            const taken = [one.event, revision(place), new Date(one.atMs).toISOString()] as const;
            if (place <= at) all.take(...taken);
            if (place <= at && place >= event.data.firstRevision) on.take(...taken);
          }
          for (const month of [...resumed, '2030-01']) expect(on.sumsOf(month)).toEqual(all.sumsOf(month));
        }
      }),
      { numRuns: 100 },
    );
  });
});

const shown = (life: readonly Timed[], month: string, over: readonly Grant[] = []) => {
  const recorded = recordedLife(life);
  const log = {
    async *readStream(_: StreamName, { from = revision(0) }: ReadStreamOptions = {}) {
      yield* recorded.slice(from);
    },
  };
  return monthStatement(log, ACCOUNT, month, over);
};

describe('what is shown of a month until it is closed', () => {
  const grant = (id: string, day: string, factDay = day): Timed => ({
    event: granted(id, 1_000, { effectiveAt: `${factDay}T12:00:00.000Z` }),
    atMs: ms(`${day}T12:00:00.000Z`),
  });
  const birth = [{ event: opened, atMs: ms('2026-11-05T12:00:00.000Z') }, grant('november', '2026-11-06')];
  /** November is closed behind the first of them, and what is then the next month behind the last. */
  const closedBehind = (...late: readonly Timed[]): Timed[] =>
    closedLife([...birth, { event: keyIssued(), atMs: ms('2026-12-04T12:00:00.000Z') }, ...late], [2]);

  it('is what its statement has then, in any life, and its items are what was debited, exceptions left out or approved among them, and usage without a price once', async () => {
    const met = new Set<string>();
    await fc.assert(
      fc.asyncProperty(closedLives, async (life) => {
        for (const [at, { event }] of life.entries()) {
          if (event.type !== 'StatementClosed') continue;
          const { month, opening, closing } = event.data;
          const { items, carried, ...open } = await shown(life.slice(0, at), month);
          expect(open).toMatchObject({ status: 'open', opening, closing });
          const cost = items.reduce((sum, one) => sum + one.cost, 0n);
          expect(cost - carried).toBe(event.data.debited * PICO_PER_MICRO);
          for (const { item } of items) if (item.startsWith('exceptions')) met.add(item);
        }
        const closed = life.flatMap(({ event }) => (event.type === 'StatementClosed' ? [event.data] : []));
        const inLast = (month: string, at: number) => isCountedBy(closed.at(-1) ?? null, month, revision(at));
        const unpriced = life.filter(
          ({ event }, at) =>
            event.type === 'UsageRecorded' &&
            event.data.unpriced.length > 0 &&
            inLast(event.data.startedAt.slice(0, 7), at),
        );
        const shownOnce = await Promise.all(closed.map(({ month }) => shown(life, month)));
        const told = shownOnce.flatMap(({ items }) => items.filter(({ item }) => item === WITHOUT_PRICE));
        expect(told.reduce((sum, { count }) => sum + count, 0n)).toBe(BigInt(unpriced.length));
      }),
      { numRuns: 60 },
    );
    expect([...met].sort()).toEqual([
      'exceptions: approved',
      'exceptions: left out beyond the hold',
      'exceptions: reported late',
      WITHOUT_PRICE,
    ]);
  });

  it.each([
    ['also what comes late while it is over', '2026-12', [grant('own', '2026-12-09')], 4_000n],
    ['nothing that comes late, where it has nothing of its own and so no statement', '2027-01', [], 3_000n],
  ])('has %s: what the next statement has then', async (_, month, own, closing) => {
    const late = [grant('late', '2027-01-02', '2026-11-30'), grant('later', '2027-02-02', '2026-11-29')];
    const life = closedBehind(...own, ...late);
    const next = { opening: 1_000n, closing };
    expect(statementsOf(life).at(-1)).toMatchObject({ month, ...next });
    const open = life.slice(0, -1);
    expect(await shown(open, month)).toMatchObject({ status: 'open', ...next });
    expect(await shown(open, '2027-02')).toMatchObject({ status: 'open', opening: closing, closing });
    const before = { opening: 1_000n, closing: 1_000n };
    if (month !== '2026-12') expect(await shown(open, '2026-12')).toMatchObject({ status: 'open', ...before });
  });
});

describe('credits that have ended, and are not written down as expired', () => {
  const [endMs, lateMs] = [ms('2026-11-20T12:00:00.000Z'), ms('2026-12-02T12:00:00.000Z')];
  const ofDay = (id: string, amount: number, day: string, atMs: number, change: object = {}): Timed => ({
    event: granted(id, amount, { effectiveAt: `${day}T12:00:00.000Z`, ...change }),
    atMs,
  });
  const ending = { expiresAt: new Date(endMs).toISOString() };
  const begun = [
    { event: opened, atMs: ms('2026-10-05T12:00:00.000Z') },
    ofDay('g', 1_000, '2026-10-06', ms('2026-10-06T12:00:00.000Z'), ending),
  ];
  const closed = closedLife([...begun, { event: keyIssued(), atMs: ms('2026-11-04T12:00:00.000Z') }], [2]).slice(0, 4);
  const late = ofDay('late', 7, '2026-10-30', lateMs);
  const overIn = (life: readonly Timed[]): readonly Grant[] => {
    const state = fold(life.map(({ event }) => event));
    return state.type === 'unopened' ? [] : state.grants.filter((grant) => isExpired(grant, lateMs));
  };

  it('make a month of which nothing else is the next statement: what comes late for a closed one is shown in it', async () => {
    const life = [...closed, late];
    const over = overIn(life);
    expect(statementsOf(life)).toMatchObject([{ month: '2026-10', closing: 1_000n }]);
    const sums = { opening: 1_000n, closing: 1_007n, ended: 1_000n, endedBefore: 0n };
    expect(await shown(life, '2026-11', over)).toMatchObject(sums);
    const next = { opening: 1_007n, closing: 1_007n, ended: 1_000n, endedBefore: 1_000n };
    expect(await shown(life, '2026-12', over)).toMatchObject(next);
  });

  it('in a month that is closed are of the one after it', async () => {
    const months = new OpenMonths({ month: '2026-11', closing: usd(5), firstRevision: 0, lastRevision: 4 });
    expect([months.firstUpTo('2026-11', endMs), months.firstUpTo('2027-01', endMs)]).toEqual([null, '2026-12']);
    const ended = ofDay('ended', 3, '2026-10-07', lateMs, { expiresAt: '2026-10-25T12:00:00.000Z' });
    const life = [...closed, ended];
    const sums = { opening: 1_000n, closing: 1_003n, ended: 1_003n, endedBefore: 0n };
    expect(await shown(life, '2026-11', overIn(life))).toMatchObject(sums);
  });
});

describe('what was paid on the 30th, and is told on the 1st', () => {
  const [asked, made, told] = ['2026-11-30T23:59:50.000Z', '2026-11-30T23:59:58.000Z', '2026-12-01T00:00:03.000Z'];
  const attempt = { attemptId: attemptId('a'), provider: 'stripe' };
  const [amount, price] = [usd(20), usd(18)];
  const buying = [
    opened,
    ...given(opened).decided({ type: 'StartPurchase', ...attempt, amount, price, by: 'x', nowMs: ms(asked) }),
  ];
  const paying = (nowMs: number): Timed[] => {
    const paid = { paymentId: paymentId('pi_1'), amount: price, paidAtMs: ms(made), nowMs };
    return given(...buying)
      .decided({ type: 'RecordPayment', ...attempt, ...paid })
      .map((event) => ({ event, atMs: nowMs }));
  };
  const begun = buying.map((event) => ({ event, atMs: ms(asked) }));
  const movementsOf = async (life: readonly Timed[], month: string) =>
    (await shown(life, month)).movements.map(({ revision, amount: moved }) => [revision, moved]);
  const payment = [
    // That it was begun.
    [1, null],
    [2, null],
    [3, 20n],
  ];

  it('is of the month in which it was paid, where that is open, with its payment beside it', async () => {
    const life = [...begun, ...paying(ms(told))];
    expect(await movementsOf(life, '2026-11')).toEqual(payment);
    expect(await movementsOf(life, '2026-12')).toEqual([]);
    expect(await shown(life, '2026-12')).toMatchObject({ opening: 20n, closing: 20n });
    const closed = closedLife(life, []);
    expect(statementsOf(closed)).toMatchObject([{ month: '2026-11', granted: 20n, closing: 20n }]);
    expect(aboutStatements(recordedLife(closed))).toEqual([]);
    expect(await movementsOf(closed, '2026-11')).toEqual(payment);
  });

  it('is of the month in which it is told, where the other one is closed', async () => {
    const november = { event: granted('november', 1, { effectiveAt: asked }), atMs: ms(asked) };
    const december = { event: keyIssued(), atMs: ms('2026-12-04T12:00:00.000Z') };
    const before = closedLife([...begun, november, december], [3]).slice(0, 5);
    const life = [...before, ...paying(ms('2026-12-05T12:00:00.000Z'))];
    expect(statementsOf(before)).toMatchObject([{ month: '2026-11', closing: 1n }]);
    expect(await shown(life, '2026-11')).toMatchObject({ closing: 1n });
    expect((await movementsOf(life, '2026-12')).map(([, moved]) => moved)).toEqual([null, 20n]);
    expect(statementsOf(closedLife(life, [])).at(-1)).toMatchObject({ month: '2026-12', granted: 20n, closing: 21n });
  });
});

describe('what moves nothing: usage that was reported late, usage without a price, and what is noted by itself', () => {
  const AHEAD = '2026-12-04T12:00:00.000Z';
  const [started, midnight, back] = [
    '2026-11-30T23:58:00.000Z',
    '2026-12-01T00:01:00.000Z',
    '2026-11-21T12:00:00.000Z',
  ];
  const usage = usageOf(7, 5, { startedAt: started, finishedAt: started, unpriced: ['tier'] });
  const late: AccountEvent = {
    type: 'LateUsageReported',
    data: { requestId: usage.requestId, usage, cost: picoUsd(0n), lines: [], uses: [] },
  };
  const suspended: AccountEvent = { type: 'AccountSuspended', data: { reason: 'unpaid' } };
  const born = [opened, granted('november', 1_000)].map((event) => ({ event, atMs: ms('2026-11-06T12:00:00.000Z') }));
  const closed = closedLife([...born, { event: keyIssued(), atMs: ms(AHEAD) }], [2]).slice(0, 4);
  const MONTHS = ['2026-11', '2026-12', '2027-01'] as const;
  const eachMonth = async (life: readonly Timed[]) =>
    Promise.all(
      MONTHS.map(async (month) => {
        const { items, movements } = await shown(life, month);
        const undebited = items.filter(({ cost }) => cost === 0n).map(({ item, count }) => [item, count]);
        return [undebited, movements.filter(({ amount }) => amount === null).map(({ at }) => at)];
      }),
    );
  const none = [[], []];

  it('of a request of the 30th, reported late on the 1st, is of the month of its start while that is open, and then of it', async () => {
    const life = [...born, { event: late, atMs: ms(midnight) }];
    const november = [[['exceptions: reported late', 1n]], [midnight]];
    expect(await eachMonth(life)).toEqual([november, none, none]);
    expect(await eachMonth(closedLife(life, []))).toEqual([november, none, none]);
  });

  it.each([
    ['also where its clock is right', '2026-12-05T12:00:00.000Z'],
    ['also where it says a time of the closed one, as after a clock that was ahead', back],
  ])('is of the next month where its own is closed, which never changes: %s', async (_, at) => {
    const counts = [
      [late, [['exceptions: reported late', 1n]], [at]],
      [{ type: 'UsageRecorded', data: usage } as AccountEvent, [[WITHOUT_PRICE, 1n]], []],
      [suspended, [], [at]],
    ] as const;
    expect(statementsOf(closed)).toMatchObject([{ month: '2026-11' }]);
    for (const [event, ...told] of counts) {
      const life = [...closed, { event, atMs: ms(at) }];
      expect(await eachMonth(life), event.type).toEqual([none, told, none]);
      const january = { event: granted('january', 1, { effectiveAt: '2027-01-06T12:00:00.000Z' }) };
      const on = [...life, { ...january, atMs: ms('2027-01-06T12:00:00.000Z') }];
      expect(await eachMonth(on), event.type).toEqual([none, told, none]);
    }
  });

  it('is of the month that is closed next, though it is written down behind it: before that is closed, and then', async () => {
    const [own, at] = ['2026-12-09T12:00:00.000Z', '2027-01-02T00:00:00.000Z'];
    const december = { event: granted('december', 1, { effectiveAt: own }), atMs: ms(own) };
    const life = [...closed, december, { event: late, atMs: ms(at) }];
    const all = closedLife(
      [...born, { event: keyIssued(), atMs: ms(AHEAD) }, december, { event: late, atMs: ms(at) }],
      [2],
    );
    expect(statementsOf(all).map(({ month }) => month)).toEqual(['2026-11', '2026-12']);
    for (const one of [life, all])
      expect(await eachMonth(one)).toEqual([none, [[['exceptions: reported late', 1n]], [at]], none]);
  });

  it('goes with its month, where nothing moved in that, to the statement that has it', async () => {
    const [own, later] = ['2026-12-05T12:00:00.000Z', '2027-01-06T12:00:00.000Z'];
    const granting = { event: granted('later', 1, { effectiveAt: later }), atMs: ms(later) };
    const all = closedLife(
      [...born, { event: keyIssued(), atMs: ms(AHEAD) }, { event: late, atMs: ms(own) }, granting],
      [2],
    );
    expect(statementsOf(all).map(({ month }) => month)).toEqual(['2026-11', '2027-01']);
    expect(await eachMonth(all)).toEqual([none, none, [[['exceptions: reported late', 1n]], [own]]]);
  });
});

it('what is written down with a time of a closed month, as a clock says that was wrong, is in the next statement', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 200 }), { minLength: 1, maxLength: 8 }), (days) => {
      const bornMs = ms('2026-10-05T12:00:00.000Z');
      const life: Timed[] = [{ event: opened, atMs: bornMs }];
      // In any order: a clock is days ahead, and right again.
      for (const [at, day] of days.entries()) {
        const atMs = bornMs + day * DAY_MS;
        life.push({ event: granted(`g${at}`, 10 ** at, { effectiveAt: new Date(atMs).toISOString() }), atMs });
      }
      life.push({ event: keyIssued(), atMs: bornMs + 400 * DAY_MS });
      const all = closedLife(life, [...life.keys()]);
      expect(aboutStatements(recordedLife(all))).toEqual([]);
      const given = days.reduce((sum, _, at) => sum + 10n ** BigInt(at), 0n);
      expect(statementsOf(all).at(-1)?.closing).toBe(given);
    }),
    { numRuns: 200 },
  );
});

const lastOf = ({ month, closing, firstRevision, lastRevision }: EventData<'StatementClosed'>): ClosedStatement => ({
  ...{ month, closing, firstRevision, lastRevision },
});

function aboutStatements(events: readonly RecordedEvent[]): string[] {
  const stored = events.map((one) => ({ ...one, data: JSON.parse(one.data), metadata: JSON.parse(one.metadata) }));
  return accountBooks('acme', stored, LIFE_PRICES).faults.filter((fault) => fault.includes('statement of'));
}

it('a life that is decoded folds to the state that has its last statement', () => {
  const life = closedLife(liveInTime([]), []);
  const events = recordedLife(life).map((one) => decodeRecorded(one).event as AccountEvent);
  const state = fold(events);
  const last = statementsOf(life).at(-1);
  if (last === undefined || state.type === 'unopened') throw new Error('nothing was closed');
  expect(state.billing.statement).toEqual(lastOf(last));
});

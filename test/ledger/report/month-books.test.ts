import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import {
  accountStream,
  commandId,
  grantId,
  LEDGER_STREAM,
  paymentId,
  position,
  revision,
} from '../../../contracts/ids.ts';
import { picoUsd } from '../../../contracts/money.ts';
import { INITIAL_ACCOUNT, type OpenAccount } from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { costOfException } from '../../../ledger/account/exceptions.ts';
import { valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { monthOf } from '../../../ledger/account/month.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { type BooksForm, bookEntries } from '../../../ledger/export/book-entries.ts';
import {
  BREAKAGE,
  CORRECTIONS,
  clearing,
  freeCredits,
  PREMIUM,
  paidCredits,
  REFUNDS,
  receivable,
  USAGE_FREE,
  USAGE_OWED,
  USAGE_PAID,
} from '../../../ledger/postings/chart-of-accounts.ts';
import { agree, type Books } from '../../../ledger/report/books.ts';
import { MonthBooks } from '../../../ledger/report/month-books.ts';
import { GRANT_SOURCES } from '../../../ledger/report/movements.ts';
import { SealCoverage } from '../../../ledger/report/seal-coverage.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, CARD, granted, opened, requestOf, usageOf, usd } from '../../fixtures/ledger/example-account.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';
import { lifeOfExceptions } from '../../fixtures/ledger/life-of-exceptions.ts';
import { liveInTime, lives } from '../../fixtures/ledger/random-life.ts';

type Timed = { readonly event: AccountEvent; readonly atMs: number };

const recorded = ({ event, atMs }: Timed, at: number): RecordedEvent => {
  const recordedAt = new Date(atMs).toISOString();
  const id = commandId('019a5b3c-0000-7000-8000-00000000000a');
  const [proposed] = encodeEvents([event], { commandId: id, actor: 'operator', recordedAt });
  if (proposed === undefined) throw new Error('nothing was encoded');
  return { ...proposed, stream: accountStream(ACCOUNT), revision: revision(at), position: position(at) };
};

function booksOf(month: string, events: readonly Timed[], madeAtMs?: number): Books {
  const books = new MonthBooks(month, new SealCoverage(month));
  for (const event of events.map(recorded)) books.take(event);
  return books.result(madeAtMs);
}

/** What the product's own fold makes of the events up to the end of a month. */
function foldThrough(month: string, events: readonly Timed[]): OpenAccount | null {
  const state = events
    .filter(({ atMs }) => monthOf(atMs) <= month)
    .reduce((folded, { event }) => evolve(folded, event) as OpenAccount, INITIAL_ACCOUNT as unknown as OpenAccount);
  return state.type === 'open' ? state : null;
}

/** A life in which grants are paid in part, or cost more than they give, from every source. */
const paidInPart = (events: readonly Timed[]): Timed[] =>
  events.map(({ event, atMs }, at) => {
    if (event.type !== 'CreditsGranted' || event.data.costBasis === 0n) return { event, atMs };
    const costBasis = usd((event.data.amount * BigInt(1 + (at % 7))) / 5n + 1n);
    const source = GRANT_SOURCES[at % GRANT_SOURCES.length] ?? 'purchase';
    return { event: { ...event, data: { ...event.data, costBasis, source } }, atMs };
  });

/** What the export of the month books: by account within it, and what it closes with. */
async function postingsOf(month: string, events: readonly RecordedEvent[]) {
  const within = new Map<string, bigint>();
  let closing: ReadonlyMap<string, bigint> = new Map();
  const adding: BooksForm = {
    begin: () => '',
    entry: ({ postings }) => {
      for (const { account, microUsd } of postings) within.set(account, (within.get(account) ?? 0n) + microUsd);
      return '';
    },
    end: (balances) => {
      closing = balances.closing;
      return [];
    },
  };
  const [year = 0, number = 0] = month.split('-').map(Number);
  const period = { from: `${month}-01T00:00:00.000Z`, to: new Date(Date.UTC(year, number)).toISOString() };
  const pages = (async function* () {
    yield events;
  })();
  for await (const chunk of bookEntries(pages, period, adding)) expect(chunk).toBe('');
  return {
    within: (account: string): bigint => within.get(account) ?? 0n,
    closing: (account: string): bigint => closing.get(account) ?? 0n,
  };
}

const sum = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((all, amount) => all + amount, 0n);

describe('the books of a month', () => {
  it('have the accounts that there were by its end, and not those that have come since', () => {
    const events = [
      { event: opened, atMs: Date.parse('2026-12-01T00:00:00.000Z') },
      { event: granted('g', 5), atMs: Date.parse('2027-01-31T23:59:59.999Z') },
    ];
    const accountsOf = (month: string) => {
      const { accounts } = booksOf(month, events);
      return accounts.map(({ id, email, balance }) => [id, email, balance]);
    };
    expect(accountsOf('2026-11')).toEqual([]);
    for (const [month, balance] of [
      ['2026-12', 0n],
      ['2027-01', 5n],
      ['2027-02', 5n],
    ] as const)
      expect(accountsOf(month)).toEqual([[ACCOUNT, 'owner@example.com', balance]]);
  });

  it('close where the accounts stand, open where the month before has closed, and agree with themselves', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const events = liveInTime(steps);
        let closed: Pick<Books, 'closing' | 'deferredClosing'> = { closing: 0n, deferredClosing: 0n };
        for (const month of ['2026-11', '2026-12', '2027-01', '2027-02', '2027-03']) {
          const books = booksOf(month, events);
          expect(books.checks.filter(({ one, other }) => one !== other)).toEqual([]);
          expect(agree(books)).toBe(true);
          expect([books.opening, books.deferredOpening]).toEqual([closed.closing, closed.deferredClosing]);
          const state = foldThrough(month, events);
          expect(books.closing).toBe(state?.balance ?? 0n);
          expect(books.owed).toBe(state?.uncovered ?? 0n);
          expect(sum(books.liability.map(({ remaining }) => remaining))).toBe(
            sum((state?.grants ?? []).map(({ remaining }) => remaining)),
          );
          const costs = state === null ? [] : [...valuesOf(state.exceptions.open)].map(costOfException);
          expect(books.open.amountPicoUsd).toBe(sum(costs));
          expect(books.open.count).toBe(costs.filter((cost) => cost > 0n).length);
          const { unlisted = 0 } = state?.exceptions ?? {};
          expect(books.open.withoutAmount).toBe(costs.filter((cost) => cost === 0n).length + unlisted);
          const { granted: given, debited, approved, reversed, expired, reinstated } = books.moved;
          const ofAccounts = (field: 'granted' | 'spent' | 'expired') => sum(books.accounts.map((one) => one[field]));
          expect([ofAccounts('granted'), ofAccounts('spent'), ofAccounts('expired')]).toEqual([
            ...[
              sum(Object.values(given).map(({ amount }) => amount)),
              debited + approved - reversed,
              expired - reinstated,
            ],
          ]);
          closed = books;
        }
      }),
      { numRuns: 60 },
    );
  });

  it('are those of the export’s double entry, whatever was paid for grants and by whichever clocks it was written down', async () => {
    await fc.assert(
      fc.asyncProperty(lives, fc.array(fc.constantFrom(0, 0, 0, -40, 3), { minLength: 1 }), async (steps, daysOff) => {
        const events = paidInPart(liveInTime(steps)).map(({ event, atMs }, at) => ({
          event,
          atMs: atMs + (daysOff[at % daysOff.length] ?? 0) * 86_400_000,
        }));
        for (const month of ['2026-11', '2026-12', '2027-01', '2027-02']) {
          const { moved, ...books } = booksOf(month, events);
          expect(books.checks.filter(({ one, other }) => one !== other)).toEqual([]);
          const { within, closing } = await postingsOf(month, events.map(recorded));
          const [paid, free, owed] = [paidCredits(ACCOUNT), freeCredits(ACCOUNT), receivable(ACCOUNT)];
          expect(moved).toMatchObject({
            ...{ fromPaid: -within(USAGE_PAID), fromGiven: -within(USAGE_FREE), owed: -within(USAGE_OWED) },
            ...{
              breakage: -within(BREAKAGE),
              premium: -within(PREMIUM),
              corrections: -within(CORRECTIONS),
              refunds: -within(REFUNDS),
            },
          });
          const paidIn = sum(GRANT_SOURCES.map((source) => moved.granted[source].paid));
          const cleared = sum(GRANT_SOURCES.map((source) => within(clearing(source))));
          expect(paidIn - moved.paidBack).toBe(cleared + within('Assets:Disputes'));
          expect(books.deferredClosing - books.deferredOpening).toBe(-within(paid));
          expect(books.closing - books.opening).toBe(-within(paid) - within(free) - within(owed));
          expect([books.deferredClosing, books.closing, books.owed]).toEqual([
            -closing(paid),
            -closing(paid) - closing(free) - closing(owed),
            closing(owed),
          ]);
          expect(sum(books.liability.map((line) => line.deferred))).toBe(-closing(paid));
          expect(sum(books.liability.map((line) => line.remaining))).toBe(-closing(paid) - closing(free));
          const ofModels = (field: 'fromPaid' | 'fromGiven' | 'owed') => sum(books.models.map((model) => model[field]));
          expect([ofModels('fromPaid'), ofModels('fromGiven'), ofModels('owed')]).toEqual([
            ...[-within(USAGE_PAID), -within(USAGE_FREE), -within(USAGE_OWED)],
          ]);
        }
      }),
      { numRuns: 100 },
    );
  });

  const at = (instant: string, event: AccountEvent): Timed => ({ event, atMs: Date.parse(instant) });
  const expired = (amount: number): AccountEvent => ({
    type: 'CreditsExpired',
    data: { grantId: grantId('half'), amount: usd(amount), expiredAt: '2026-11-20T00:00:00.000Z' },
  });

  it('earn what was paid for in proportion to what of it is consumed, and name where and how old the rest is', () => {
    const books = booksOf('2026-12', [
      at('2026-11-05T10:00:00.000Z', opened),
      at('2026-11-05T10:00:00.000Z', granted('half', 1_000, { costBasis: usd(500) })),
      at('2026-11-30T23:59:59.999Z', expired(301)),
      at('2026-12-01T00:00:00.000Z', expired(2)),
      at(
        '2026-12-31T23:59:59.999Z',
        granted('free', 70, { source: 'promotion', costBasis: usd(0), effectiveAt: '2026-12-02T00:00:00.000Z' }),
      ),
      at('2027-01-01T00:00:00.000Z', granted('late', 9)),
    ]);
    expect(books).toMatchObject({ opening: 699n, closing: 767n, deferredOpening: 349n, deferredClosing: 348n });
    expect(books.moved).toMatchObject({ expired: 2n, breakage: 1n, fromPaid: 0n });
    expect(books.moved.granted.promotion).toEqual({ count: 1, amount: 70n, sold: 0n, paid: 0n });
    expect(books.liability).toEqual([
      { source: 'purchase', age: '31 to 90 days', grants: 1, remaining: 697n, ended: 0n, deferred: 348n },
      { source: 'promotion', age: '0 to 30 days', grants: 1, remaining: 70n, ended: 0n, deferred: 0n },
    ]);
    expect(books.eventsOfMonth).toBe(2);
  });

  it('have the money that went back as what it was, whatever credit goes with it', () => {
    const now = '2026-11-05T10:00:00.000Z';
    const refunded = {
      paymentId: paymentId('pi_1'),
      refundId: 're_1',
      amount: usd(100),
      refundedAt: now,
      reason: null,
    };
    const { moved, checks } = booksOf('2026-11', [
      at(now, opened),
      at(now, granted('payment_pi_1', 90, { costBasis: usd(100) })),
      at(now, { type: 'PaymentRefunded', data: refunded }),
    ]);
    expect(moved).toMatchObject({ paidBack: 100n, premium: 10n, refunds: -100n });
    expect(checks.filter(({ one, other }) => one !== other)).toEqual([]);
  });

  it('have every exception and correction as a note, each with its amount and why, and spending on its day', () => {
    const reinstated: AccountEvent = {
      type: 'CreditsReinstated',
      data: {
        grantId: grantId('half'),
        amount: usd(3),
        expiresAt: '2026-11-30T00:00:00.000Z',
        reason: 'ours',
        actor: 'eve',
      },
    };
    const life = [...lifeOfExceptions(), granted('half', 100, { costBasis: usd(40) }), expired(10), reinstated];
    const state = life.reduce(evolve, INITIAL_ACCOUNT as unknown as OpenAccount) as OpenAccount;
    const beyond = recordUsage(state, usageOf(90, 500), CARD);
    const adjusted = granted('mend', 7, { source: 'adjustment', costBasis: usd(0) });
    const days = ['2026-11-06', '2026-11-30'];
    const books = booksOf('2026-11', [
      ...life.map((event) => at(`${days[0]}T10:00:00.000Z`, event)),
      ...[...beyond, adjusted].map((event) => at(`${days[1]}T10:00:00.000Z`, event)),
    ]);
    const notes = books.notes.all.map(({ what, requestId, amount, why }) => [what, requestId, amount, why]);
    expect(notes).toEqual([
      ['cost beyond the hold, not debited', requestOf(1), 5n, null],
      ['exception approved: debited', requestOf(1), 5n, 'the provider confirms it (operator)'],
      ['exception dropped: never debited', requestOf(2), 0n, 'a tier of theirs (operator)'],
      ['usage reported late, not debited', requestOf(3), 9n, null],
      ['debited, and no grant covered it', requestOf(4), 60n, null],
      ['expired credits reinstated (half)', null, 3n, 'ours (eve)'],
      ['debited, and no grant covered it', requestOf(90), 467n, null],
      ['credits granted as an adjustment (mend)', null, 7n, 'operator'],
    ]);
    expect([...books.notes.unpriced.values()]).toEqual([
      { model: 'opal-medium', what: 'service_tier: ba\ntch', requests: 1 },
    ]);
    expect([books.days[5], books.days[29], books.days.filter((day) => day !== 0n).length]).toEqual([120n, 500n, 2]);
    // A gift of 60 paid for what came first; of 100, of which 40 were paid, 60 went to what was owed and 7 expired for good.
    expect(books.models).toMatchObject([
      { lane: 'standard', requests: 4, spent: 510n, fromPaid: 13n, fromGiven: 30n, owed: 467n, earned: 480n },
      { lane: 'fast', requests: 1, spent: 110n, fromPaid: 0n, fromGiven: 50n, owed: 60n, earned: 60n },
      { model: 'opal-free', requests: 1, spent: 0n, earned: 0n },
    ]);
    expect(books.moved).toMatchObject({ fromPaid: 13n, fromGiven: 80n, owed: 527n, settled: 24n, breakage: 3n });
  });

  it('have outstanding credit that begins only behind the month’s end by itself', () => {
    const begins = (id: string, effectiveAt: string): Timed =>
      at('2026-11-05T10:00:00.000Z', granted(id, 10, { effectiveAt }));
    const { liability } = booksOf('2026-11', [
      at('2026-11-05T10:00:00.000Z', opened),
      begins('by its last instant', '2026-11-30T23:59:59.999Z'),
      begins('behind it', '2026-12-01T00:00:00.000Z'),
    ]);
    expect(liability.map(({ age, grants }) => [age, grants])).toEqual([
      ['not begun', 1],
      ['0 to 30 days', 1],
    ]);
  });

  it('count the requests of a month that one kind of usage has no price for', () => {
    const life = [opened, granted('g', 1_000)];
    for (const number of [1, 2, 3])
      life.push(
        ...recordUsage(fold(life) as OpenAccount, usageOf(number, 5, { unpriced: [`tier: ${number % 2}`] }), CARD),
      );
    const usage = usageOf(4, 5, { unpriced: ['tier: 0'] });
    const late = { requestId: usage.requestId, usage, cost: picoUsd(0n), lines: [], uses: [] };
    life.push({ type: 'LateUsageReported', data: late });
    const { notes } = booksOf(
      '2026-11',
      life.map((event) => at('2026-11-05T10:00:00.000Z', event)),
    );
    expect([...notes.unpriced.values()].map(({ what, requests }) => [what, requests])).toEqual([
      ['tier: 1', 2],
      ['tier: 0', 2],
    ]);
  });

  it('note a loss that was accepted, and a move, in the month in which that was written down alone', () => {
    const notesOf = (month: string): string[] => {
      const books = new MonthBooks(month, new SealCoverage(month));
      for (const type of ['LossAccepted', 'LedgerMoved'] as const) {
        const recording = { commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'), actor: 'operator' };
        const [event] = encodeEvents([exampleOf(type)], { ...recording, recordedAt: '2026-11-05T10:00:00.000Z' });
        if (event === undefined) throw new Error('nothing was encoded');
        books.take({ ...event, stream: LEDGER_STREAM, revision: revision(0), position: position(1) });
      }
      return books.result().notes.all.map(({ what }) => what);
    };
    expect(notesOf('2026-11')).toEqual([
      expect.stringMatching(/^a loss of the ledger was accepted: generation \d+ began$/),
      expect.stringMatching(/^the ledger moved to another log: /),
    ]);
    expect([notesOf('2026-10'), notesOf('2026-12')]).toEqual([[], []]);
  });

  it('refuse an event of an account in a stream that is of none', () => {
    const books = new MonthBooks('2026-11', new SealCoverage('2026-11'));
    const [event] = [at('2026-11-05T10:00:00.000Z', opened)].map(recorded);
    if (event === undefined) throw new Error('nothing was recorded');
    expect(() => books.take({ ...event, stream: LEDGER_STREAM })).toThrow(
      /^ledger revision 0 \(AccountOpened\) cannot be booked: its stream is not one of an account$/,
    );
  });

  it('tell what of the outstanding is past its end, to the month’s last instant, or as of now while it is not over', () => {
    const until = (id: string, expiresAt: string | null): Timed =>
      at('2026-11-05T10:00:00.000Z', granted(id, 10, { expiresAt }));
    const life = [
      at('2026-11-05T10:00:00.000Z', opened),
      until('over', '2026-12-01T00:00:00.000Z'),
      until('not', '2026-12-01T00:00:00.001Z'),
      until('never', null),
    ];
    const [outstanding] = booksOf('2026-11', life).liability;
    expect(outstanding).toMatchObject({ grants: 3, remaining: 30n, ended: 10n, deferred: 30n });
    const madeAtMs = Date.parse('2026-11-30T23:59:59.999Z');
    expect(booksOf('2026-11', life, madeAtMs).liability).toEqual([{ ...outstanding, ended: 0n }]);
    expect(booksOf('2026-10', life, madeAtMs).liability).toEqual([]);
  });

  const reinstated = (amount: number): AccountEvent => {
    const data = { amount: usd(amount), expiresAt: '2027-02-01T00:00:00.000Z', reason: 'x', actor: 'x' };
    return { type: 'CreditsReinstated', data: { grantId: grantId('half'), ...data } };
  };

  it('have what was paid for of a grant that holds nothing, where by a clock that goes back more of what was given is gone', () => {
    const [before, after] = ['2026-12-31T23:00:00.000Z', '2027-01-01T01:00:00.000Z'];
    const books = booksOf('2026-12', [
      at(before, opened),
      at(before, granted('half', 2, { costBasis: usd(1) })),
      ...[at(after, expired(1)), at(before, expired(1)), at(after, reinstated(1)), at(before, expired(1))],
    ]);
    expect(books).toMatchObject({ closing: 0n, deferredClosing: 1n, liability: [{ remaining: 0n, deferred: 1n }] });
    expect(books.checks.filter(({ one, other }) => one !== other)).toEqual([]);
  });

  it('know a grant again that is spent when more of it is reinstated', () => {
    const [usage, debit] = recordUsage(fold([opened, granted('half', 3)]) as OpenAccount, usageOf(1, 3), CARD);
    if (usage === undefined || debit === undefined) throw new Error('nothing was debited');
    const life = [opened, granted('half', 10), expired(10), reinstated(3), usage, debit, reinstated(3)];
    const books = booksOf(
      '2026-12',
      life.map((event) => at('2026-12-05T10:00:00.000Z', event)),
    );
    expect(books).toMatchObject({ closing: 3n, owed: 0n, liability: [{ remaining: 3n }] });
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { EVENT_SCHEMAS } from '../../../contracts/events.ts';
import { grantId, paymentId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { Bookkeeper } from '../../../ledger/postings/bookkeeper.ts';
import { freeCredits, paidCredits, receivable } from '../../../ledger/postings/chart-of-accounts.ts';
import { POSTING_RULES } from '../../../ledger/postings/posting-rules.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, CARD, granted, opened, usageOf } from '../../fixtures/ledger/example-account.ts';
import { live, lives } from '../../fixtures/ledger/random-life.ts';
import { storedLife } from '../statement/stored-life.ts';

it('every type of event has its postings, or says why it has none', () => {
  expect(Object.keys(POSTING_RULES).toSorted()).toEqual(Object.keys(EVENT_SCHEMAS).toSorted());
  for (const rule of Object.values(POSTING_RULES)) if ('none' in rule) expect(rule.none).toMatch(/\w+ \w+/);
});

/** A life in which purchases are paid in part, or cost more than they give. */
const paidInPart = (events: readonly AccountEvent[]): AccountEvent[] =>
  events.map((event, at) =>
    event.type === 'CreditsGranted' && event.data.costBasis > 0n
      ? { ...event, data: { ...event.data, costBasis: microUsd((event.data.amount * BigInt(1 + (at % 7))) / 5n + 1n) } }
      : event,
  );

it('invariant 1: conservation: the postings of each event sum to zero, and those of an account are what its fold says', () => {
  fc.assert(
    fc.property(lives, (steps) => {
      const events = paidInPart(live(steps));
      const { bookkeeper, totals } = { bookkeeper: new Bookkeeper(), totals: new Map<string, bigint>() };
      const of = (account: string): bigint => totals.get(account) ?? 0n;
      for (const [at, recorded] of storedLife(events).entries()) {
        const { postings } = bookkeeper.book(recorded) ?? { postings: [] };
        expect(postings.reduce((sum, posting) => sum + posting.microUsd, 0n)).toBe(0n);
        expect(postings.every((posting) => posting.microUsd !== 0n)).toBe(true);
        for (const { account, microUsd } of postings) totals.set(account, of(account) + microUsd);
        const state = fold(events.slice(0, at + 1));
        if (state.type === 'unopened') continue;
        const credits = -of(paidCredits(ACCOUNT)) - of(freeCredits(ACCOUNT));
        expect(credits).toBe(state.grants.reduce((sum, { remaining }) => sum + remaining, 0n));
        expect(of(receivable(ACCOUNT))).toBe(state.uncovered);
        expect(credits - of(receivable(ACCOUNT))).toBe(state.balance);
        expect(-of(paidCredits(ACCOUNT))).toBe(
          state.grants.reduce((sum, { amount, costBasis, remaining }) => {
            const paid = costBasis < amount ? costBasis : amount;
            return sum + (amount === 0n ? 0n : (paid * remaining) / amount);
          }, 0n),
        );
      }
    }),
    { numRuns: 60 },
  );
});

const post = (...events: readonly AccountEvent[]): Record<string, bigint>[] => {
  const bookkeeper = new Bookkeeper();
  return storedLife([opened, ...events]).flatMap((recorded) => {
    const entry = bookkeeper.book(recorded);
    return entry === null || entry.postings.length === 0
      ? []
      : [Object.fromEntries(entry.postings.map(({ account, microUsd }) => [account, microUsd]))];
  });
};

it('a purchase at a discount is paid in part, and expires in the same proportion', () => {
  const expired: AccountEvent = {
    type: 'CreditsExpired',
    data: { grantId: 'g' as never, amount: microUsd(30n), expiredAt: '2026-12-01T00:00:00.000Z' },
  };
  const [grant, expiry] = post(granted('g', 100, { costBasis: microUsd(90n) }), expired);
  expect(grant).toEqual({
    'Assets:Clearing:Purchases': 90n,
    'Expenses:Promotions:Purchases': 10n,
    'Liabilities:Credits:acme:Paid': -90n,
    'Liabilities:Credits:acme:Free': -10n,
  });
  expect(expiry).toEqual({
    'Liabilities:Credits:acme:Paid': 27n,
    'Liabilities:Credits:acme:Free': 3n,
    'Income:Breakage': -27n,
    'Expenses:Promotions:Purchases': -3n,
  });
});

it('trials and promotions are promotions, adjustments corrections, and what was paid too much a premium', () => {
  const free = { costBasis: microUsd(0n) };
  const [trial, adjustment, dear] = post(
    granted('t', 5, { source: 'trial', ...free }),
    granted('a', 7, { source: 'adjustment', ...free }),
    granted('d', 10, { costBasis: microUsd(12n) }),
  );
  expect(trial).toEqual({ 'Expenses:Promotions:Trials': 5n, 'Liabilities:Credits:acme:Free': -5n });
  expect(adjustment).toEqual({ 'Expenses:Corrections': 7n, 'Liabilities:Credits:acme:Free': -7n });
  expect(dear).toEqual({
    'Assets:Clearing:Purchases': 12n,
    'Income:Premium': -2n,
    'Liabilities:Credits:acme:Paid': -10n,
  });
});

it.each([
  ['an expiry of more than there is', { type: 'CreditsExpired', amount: 101n }, /of 100 would hold -1/],
  [
    'an expiry of a grant that there is not',
    { type: 'CreditsExpired', grantId: 'other', amount: 1n },
    /no grant other/,
  ],
  ['a grant that was given before', { ...granted('g', 5).data, type: 'CreditsGranted' }, /grant g was given before/],
  [
    'more given back than was ever granted',
    { type: 'CreditsReinstated', amount: 1n, expiresAt: '2026-12-02T00:00:00.000Z', reason: 'ours', actor: 'eve' },
    /of 100 would hold 101/,
  ],
])('%s is not booked, in words that name stream and revision', (_name, { type, ...data }, message) => {
  const expired = type === 'CreditsExpired' ? { expiredAt: '2026-12-01T00:00:00.000Z' } : {};
  const event = { type, data: { grantId: 'g', ...expired, ...data } } as never;
  expect(() => post(granted('g', 100), event)).toThrow(message);
  expect(() => post(granted('g', 100), event)).toThrow(`account-acme revision 2 (${type}) cannot be booked`);
});

it('what moves money in a stream of no account, or of one with another kind of id, is not booked', () => {
  const [grant] = storedLife([granted('g', 100)]);
  for (const stream of ['catalog', 'account-a:b'] as const)
    expect(() => new Bookkeeper().book({ ...grant, stream } as never)).toThrow(
      `${stream} revision 0 (CreditsGranted) cannot be booked: its stream is not one of an account`,
    );
});

it('a debit whose balance is another than its account’s is not booked', () => {
  const [, , usage, debit] = storedLife([opened, granted('g', 100), ...recordUsage(billed(), usageOf(1, 40), CARD)]);
  if (usage?.type !== 'UsageRecorded' || debit === undefined) throw new Error('a usage has its debit');
  const book = (data: string) => {
    const bookkeeper = new Bookkeeper();
    for (const recorded of storedLife([opened, granted('g', 100)])) bookkeeper.book(recorded);
    return bookkeeper.book({ ...debit, data });
  };
  expect(book(debit.data)?.postings).toHaveLength(2);
  const other = debit.data.replace('"balanceAfter":"60"', '"balanceAfter":"61"');
  expect(() => book(other)).toThrow(/balance of 61 micro-USD, its account has 60/);
});

function billed(): OpenAccount {
  const state = fold([opened, granted('g', 100)]);
  if (state.type === 'unopened') throw new Error('it is open');
  return state;
}

describe('money that goes back', () => {
  const at = '2026-11-20T10:00:00.000Z';
  const payment = paymentId('pi_1');
  const refunded: AccountEvent = {
    type: 'PaymentRefunded',
    data: { paymentId: payment, refundId: 're_1', amount: microUsd(100n), refundedAt: at, reason: null },
  };
  const revoked = (
    revocationId: string,
    cause: EventData<'GrantRevoked'>['cause'],
    amount: number,
    balance: number,
    ofGrant = 'payment_pi_1',
  ): AccountEvent => ({
    type: 'GrantRevoked',
    data: {
      ...{
        revocationId,
        grantId: grantId(ofGrant),
        amount: microUsd(BigInt(amount)),
        taken: microUsd(BigInt(amount)),
      },
      ...{ uncovered: microUsd(0n), setOff: [], cause, paymentId: payment, revokedAt: at, reason: 'x', actor: 'eve' },
      balanceAfter: microUsd(BigInt(balance)),
    },
  });
  const sumsOf = (...events: readonly AccountEvent[]): Record<string, bigint> => {
    const sums: Record<string, bigint> = {};
    for (const entry of post(...events))
      for (const [account, amount] of Object.entries(entry)) sums[account] = (sums[account] ?? 0n) + amount;
    return Object.fromEntries(Object.entries(sums).filter(([, amount]) => amount !== 0n));
  };
  const disputed: AccountEvent = {
    type: 'PaymentDisputed',
    data: { paymentId: payment, disputeId: 'dp_1', amount: microUsd(100n), openedAt: at, reason: null },
  };
  const closed = (outcome: 'won' | 'lost', replaces: 'won' | 'lost' | null = null): AccountEvent => ({
    type: 'DisputeClosed',
    data: { paymentId: payment, disputeId: 'dp_1', outcome, replaces, closedAt: at, reason: null },
  });
  const bought = granted('payment_pi_1', 90, { costBasis: microUsd(100n) });

  it('is what went back, also where less credit was bought for it, or all of that was revoked before', () => {
    expect(sumsOf(bought, refunded, revoked('re_1', 'refund', 90, 0))).toEqual({
      'Income:Premium': -10n,
      'Income:Refunds': 10n,
    });
    expect(sumsOf(bought, revoked('x', 'fraud', 90, 0), refunded)).toEqual({
      ...{ 'Income:Premium': -10n, 'Income:Corrections': -90n, 'Income:Refunds': 100n },
    });
    expect(sumsOf(bought, revoked('x', 'refund', 90, 0))).toEqual({
      ...{ 'Income:Premium': -10n, 'Assets:Clearing:Purchases': 10n },
    });
  });

  it('is here again where it is withdrawn, with what it had taken; what came back before by hand is where it was', () => {
    const withdrawn = (amount = 100n): AccountEvent => ({
      type: 'RefundWithdrawn',
      data: { paymentId: payment, refundId: 're_1', amount: microUsd(amount), withdrawnAt: at, reason: 'x' },
    });
    const back = (restorationId: string, amount: number, balance: number): AccountEvent => ({
      type: 'GrantRestored',
      data: {
        ...{ restorationId, revocationId: 're_1', grantId: grantId('payment_pi_1'), cause: 'refund', setOff: [] },
        ...{ amount: microUsd(BigInt(amount)), uncovered: microUsd(0n), owedLess: microUsd(0n), restoredAt: at },
        reinstated: [{ grantId: grantId('payment_pi_1'), amount: microUsd(BigInt(amount)), expiresAt: null }],
        ...{ reason: 'x', actor: 'eve', balanceAfter: microUsd(BigInt(balance)) },
      },
    });
    const gone = [bought, refunded, revoked('re_1', 'refund', 90, 0)];
    expect(sumsOf(...gone, withdrawn(), back('re_1_withdrawn', 90, 90))).toEqual(sumsOf(bought));
    const byHand = back('by_hand', 40, 40);
    expect(sumsOf(...gone, byHand, withdrawn(), back('re_1_withdrawn', 50, 90))).toEqual(sumsOf(bought));
    expect(() => post(...gone, withdrawn(99n))).toThrow(/there is no refund re_1 of 99 micro-USD/);
  });

  it('is the bank’s while it is disputed, and comes back with its credits where that is won', () => {
    const open = [bought, disputed, revoked('dp_1', 'dispute', 90, 0)];
    const taken = { 'Assets:Clearing:Purchases': 100n, 'Assets:Disputes': -100n };
    expect(sumsOf(...open)).toEqual({ ...taken, 'Income:Premium': -10n, 'Income:Refunds': 10n });
    expect(sumsOf(...open, closed('lost'))).toEqual(sumsOf(...open));
    const restored: AccountEvent = {
      type: 'GrantRestored',
      data: {
        ...{ restorationId: 'dp_1_won', revocationId: 'dp_1', grantId: grantId('payment_pi_1'), cause: 'dispute' },
        ...{ amount: microUsd(90n), uncovered: microUsd(0n), owedLess: microUsd(0n), restoredAt: at, reason: 'x' },
        reinstated: [{ grantId: grantId('payment_pi_1'), amount: microUsd(90n), expiresAt: null }],
        setOff: [],
        ...{ actor: 'eve', balanceAfter: microUsd(90n) },
      },
    };
    const won = [...open, closed('won'), restored];
    expect(sumsOf(...won)).toEqual(sumsOf(bought));
    const again = revoked('dp_1_lost', 'dispute', 90, 0);
    expect(sumsOf(...won, closed('lost', 'won'), again)).toEqual(sumsOf(...open));
    expect(sumsOf(...open, closed('lost'), closed('won', 'lost'), restored)).toEqual(sumsOf(bought));
    expect(() => post(bought, closed('won'))).toThrow(/there is no dispute dp_1/);
  });

  it.each([
    ['a dispute lost after all', [disputed, closed('won')], 'dp_1_lost', 'dispute', 'Assets:Disputes'],
    ['a dispute that is open', [disputed], 'dp_1', 'dispute', 'Assets:Disputes'],
    ['a refund', [refunded], 're_1', 'refund', 'Assets:Clearing:Purchases'],
  ] as const)(
    'of a payment has nothing to do with another grant’s revocation that is called as that of %s',
    (_of, back, id, cause, account) => {
      const paid = [bought, ...back, granted('ext', 30)];
      const before = sumsOf(...paid);
      const after = sumsOf(...paid, revoked(id, cause, 20, 100, 'ext'));
      expect(after).toEqual({
        ...{ ...before, [account]: (before[account] ?? 0n) - 20n },
        'Liabilities:Credits:acme:Paid': -100n,
      });
    },
  );
});

import { describe, expect, it } from 'vitest';
import type { ApprovedData, DebitData, UsageData } from '../../../ledger/audit/stored-event.ts';
import { accountBooks, availableOf } from './account-books.ts';
import { debitData, grantData, PRICES, stored, usageData, type Written } from './example-books.ts';
import { openExceptionsOf } from './listed-exceptions.ts';

const [EARLY, MIDDLE, LATER] = ['09', '11', '13'].map((hour) => `2026-11-21T${hour}:00:00.000Z`);
const at = (instant: string | undefined): string => instant ?? '';

const usage = (more: Partial<UsageData> = {}): UsageData => usageData('a', { hold: '1000', ...more });
const debit = (more: Partial<DebitData> = {}): DebitData => debitData('a', more);
const grant = (grantId: string, amount: string, effectiveAt = EARLY, expiresAt: string | null = null): object =>
  grantData(grantId, amount, { effectiveAt, expiresAt });
const booksOf = (...written: readonly Written[]) =>
  accountBooks('acct_x', stored(written), new Map([['opal-x', PRICES]]));
const granted: Written = ['CreditsGranted', grant('g1', '1000')];

describe('a debit that its hold caps', () => {
  const capped = usage({ hold: '150' });
  const paid = { amount: '150', leftOut: '50', grants: [{ grantId: 'g1', amount: '150' }], balanceAfter: '850' };
  const month = { monthToDateAfter: '150', keyMonthToDateAfter: '150' };
  const rightly: Written[] = [granted, ['UsageRecorded', capped], ['CreditsDebited', debit({ ...paid, ...month })]];

  it('is right, and leaves an open exception', () => {
    const books = booksOf(...rightly);
    expect(books.faults).toEqual([]);
    expect(openExceptionsOf(books)).toMatchObject([{ requestId: 'a', leftOut: 50_000_000n }]);
  });

  it('is wrong where it takes all the same, or does not say what was left out', () => {
    expect(booksOf(granted, ['UsageRecorded', capped], ['CreditsDebited', debit()]).faults.join()).toContain(
      'a: amount is 0.000200 USD, should be 0.000150 USD',
    );
    const silent = debit({ ...paid, ...month, leftOut: '0' });
    expect(booksOf(granted, ['UsageRecorded', capped], ['CreditsDebited', silent]).faults).toEqual([
      'a: left out is 0.000000 USD, should be 0.000050 USD',
    ]);
  });

  it('is debited after all when an operator approves it, once', () => {
    const approved: ApprovedData = {
      ...debit({ cost: '50000000', carryBefore: '300', amount: '50', grants: [{ grantId: 'g1', amount: '50' }] }),
    };
    const books = booksOf(...rightly, ['ExceptionApproved', approved]);
    expect(books.faults).toEqual([]);
    expect(openExceptionsOf(books)).toEqual([]);
    expect(booksOf(...rightly, ['ExceptionApproved', approved], ['ExceptionDropped', approved]).faults).toEqual([
      'a: dropped, and no exception is open',
    ]);
    const less = { ...approved, amount: '49' };
    expect(booksOf(...rightly, ['ExceptionApproved', less]).faults).toEqual([
      'a: amount is 0.000049 USD, should be 0.000050 USD',
    ]);
  });
});

it('charges uses by their price, and keeps what has none as an exception', () => {
  const searched = usage({
    uses: { web_search_requests: 2, code_runs: 1 },
    unpriced: ['server_tool_use.code_runs: 1'],
    hold: '90000',
  });
  const uses = [{ use: 'web_search_requests', count: 2, rate: '10000000000', cost: '20000000000' }];
  const sums = { cost: '20200000300', amount: '20200', balanceAfter: '79800' };
  const month = { monthToDateAfter: '20200', keyMonthToDateAfter: '20200' };
  const paid = debit({ ...sums, ...month, uses, grants: [{ grantId: 'g1', amount: '20200' }] });
  const rich: Written = ['CreditsGranted', grant('g1', '100000')];
  const books = booksOf(rich, ['UsageRecorded', searched], ['CreditsDebited', paid]);
  expect(books.faults).toEqual([]);
  expect(openExceptionsOf(books)).toMatchObject([{ requestId: 'a', leftOut: 0n }]);
  const free = debit({ grants: [{ grantId: 'g1', amount: '200' }] });
  expect(booksOf(rich, ['UsageRecorded', searched], ['CreditsDebited', free]).faults.join()).toContain('a: uses is ,');
});

describe('the grants that pay', () => {
  const [first, second, third] = [
    grant('g1', '50', EARLY, MIDDLE),
    grant('g2', '50', MIDDLE),
    grant('g3', '90', LATER),
  ];
  const all: Written[] = [
    ['CreditsGranted', third],
    ['CreditsGranted', second],
    ['CreditsGranted', first],
    ['UsageRecorded', usage()],
  ];

  it('are those of the start, then those of the end, then those that came later; the rest is owed', () => {
    const grants = [
      { grantId: 'g1', amount: '50' },
      { grantId: 'g2', amount: '50' },
      { grantId: 'g3', amount: '90' },
    ];
    const books = booksOf(...all, ['CreditsDebited', debit({ grants, uncovered: '10', balanceAfter: '-10' })]);
    expect(books.faults).toEqual(['a: the balance falls to -10']);
    expect(availableOf(books, Date.parse(at(LATER)))).toBe(-10n);
    const filled = booksOf(
      ...all,
      ['CreditsDebited', debit({ grants, uncovered: '10', balanceAfter: '-10' })],
      ['CreditsGranted', grant('g4', '25')],
    );
    expect(availableOf(filled, Date.parse(at(LATER)))).toBe(15n);
    expect(filled.uncovered).toBe(0n);
  });

  it('leave no debt while money lies unused', () => {
    const owed = debit({ grants: [{ grantId: 'g1', amount: '50' }], uncovered: '150', balanceAfter: '-10' });
    expect(booksOf(...all, ['CreditsDebited', owed]).faults.join()).toContain(
      'a: uncovered is 0.000150 USD, should be 0.000010 USD',
    );
  });
});

describe('usage that comes late', () => {
  const recovered = usage({ outcome: 'recovered', billable: false, tokens: { ...usage().tokens, output: 0 } });
  const late = (cost: string): Written => [
    'LateUsageReported',
    { requestId: 'a', usage: usage(), cost, lines: debit().lines, uses: [] },
  ];

  it('is an exception of a request that was recovered, at what it would have cost', () => {
    const books = booksOf(granted, ['UsageRecorded', recovered], late('200000300'));
    expect(books.faults).toEqual([]);
    expect(openExceptionsOf(books)).toMatchObject([{ requestId: 'a', late: 200_000_300n }]);
  });

  it('is wrong at another cost, twice, or where the request was charged', () => {
    expect(booksOf(granted, ['UsageRecorded', recovered], late('1')).faults).toEqual([
      'a: late cost is 0.000000000001 USD, should be 0.000200000300 USD',
    ]);
    expect(booksOf(granted, ['UsageRecorded', recovered], late('200000300'), late('200000300')).faults).toEqual([
      'a: reported late twice',
    ]);
    const charged = booksOf(granted, ['UsageRecorded', usage()], ['CreditsDebited', debit()], late('200000300'));
    expect(charged.faults).toEqual(['a: late, and not recorded as recovered before']);
  });
});

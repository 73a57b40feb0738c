import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { spendable } from '../../../ledger/account/leases.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { debitIn, granted, ms, openAccount, opened, record, usageOf } from '../../fixtures/ledger/example-account.ts';

const START = '2026-11-06T12:00:00.000Z';
const MEANWHILE = '2026-11-06T12:00:30.000Z';
const END = '2026-11-06T12:01:00.000Z';
const AFTER = '2026-11-06T12:02:00.000Z';
/** One million tokens of output are 1.00 USD. */
const request = (number: number, output: number) => usageOf(number, output, { startedAt: START, finishedAt: END });
const settle = (life: readonly AccountEvent[], number: number, output: number): AccountEvent[] => [
  ...life,
  ...given(...life).decided(record(request(number, output))),
];
const paidBy = (life: readonly AccountEvent[], output: number) => {
  const { grants, uncovered } = debitIn(settle(life, 1, output).slice(life.length));
  return { grants: Object.fromEntries(grants.map(({ grantId, amount }) => [grantId, amount])), uncovered };
};

describe('a debit is paid', () => {
  test('first by what was usable at the start, whatever burns first of what came meanwhile', () => {
    const came = granted('came', 9, { priority: 0, effectiveAt: MEANWHILE });
    expect(paidBy([opened, granted('there', 5), came], 4)).toEqual({ grants: { there: 4n }, uncovered: 0n });
    expect(paidBy([opened, granted('there', 5), came], 7)).toEqual({ grants: { there: 5n, came: 2n }, uncovered: 0n });
  });

  test('by what has expired since the start', () => {
    const soon = granted('soon', 5, { expiresAt: MEANWHILE });
    expect(paidBy([opened, soon, granted('there', 9)], 7)).toEqual({ grants: { soon: 5n, there: 2n }, uncovered: 0n });
  });

  test('by what is usable at the end before what came and expired meanwhile, and both before anything is owed', () => {
    const brief = granted('brief', 5, { priority: 0, effectiveAt: MEANWHILE, expiresAt: END });
    const came = granted('came', 5, { effectiveAt: END });
    expect(paidBy([opened, came, brief], 7)).toEqual({ grants: { came: 5n, brief: 2n }, uncovered: 0n });
  });

  test('not by what had expired when the request started', () => {
    expect(paidBy([opened, granted('gone', 5, { expiresAt: START })], 7)).toEqual({ grants: {}, uncovered: 7n });
  });

  test('the same by a grant that comes after the end, whichever of the two is written first', () => {
    const next = granted('next', 5, { effectiveAt: AFTER });
    const before = openAccount(settle([opened, granted('there', 4), next], 1, 7));
    const after = openAccount([...settle([opened, granted('there', 4)], 1, 7), next]);
    expect(before).toEqual(after);
    expect(after).toMatchObject({ uncovered: 0n, balance: 2n });
    expect(after.grants.map(({ grantId, remaining }) => [grantId, remaining])).toEqual([
      ['there', 0n],
      ['next', 2n],
    ]);
  });
});

/** 0.80 USD of a customer's went that way: the debt stayed open beside money that then expired, and was paid again. */
test('nothing is owed while money lies unused that then expires', () => {
  const expiresAt = '2026-11-13T00:00:00.000Z';
  const bought = [
    opened,
    granted('first', 200_000),
    granted('second', 1_000_000, { effectiveAt: MEANWHILE, expiresAt }),
  ];
  const life = settle(bought, 1, 1_000_000);
  expect(debitIn(life)).toMatchObject({
    grants: [
      { grantId: 'first', amount: 200_000n },
      { grantId: 'second', amount: 800_000n },
    ],
    uncovered: 0n,
  });
  const nowMs = ms(expiresAt) + 30 * 86_400_000;
  const expired = given(...life).decided({ type: 'ExpireCredits', lateMs: 0, nowMs });
  expect(expired.map(({ data }) => data)).toMatchObject([{ grantId: 'second', amount: 200_000n }]);
  const third = granted('third', 1_000_000, { effectiveAt: new Date(nowMs).toISOString() });
  expect(spendable(openAccount([...life, ...expired, third]), nowMs)).toBe(1_000_000n);
});

const anyGrants = fc.array(
  fc.record({
    amount: fc.integer({ min: 1, max: 9 }),
    priority: fc.nat({ max: 2 }),
    fromMs: fc.integer({ min: -60_000, max: 120_000 }),
    lastsMs: fc.option(fc.integer({ min: 1, max: 120_000 })),
  }),
  { maxLength: 5 },
);
type AnyGrants = typeof anyGrants extends fc.Arbitrary<infer G> ? G : never;
const at = (afterStartMs: number): string => new Date(ms(START) + afterStartMs).toISOString();
const lifeOf = (grants: AnyGrants): AccountEvent[] => [
  opened,
  ...grants.map(({ amount, priority, fromMs, lastsMs }, index) =>
    granted(`g${index}`, amount, {
      priority,
      effectiveAt: at(fromMs),
      expiresAt: lastsMs === null ? null : at(fromMs + lastsMs),
    }),
  ),
];
const output = fc.integer({ min: 1, max: 30 });

describe('in any life', () => {
  test('deciding again on the same state gives the same data, whatever the clock says meanwhile', () => {
    fc.assert(
      fc.property(anyGrants, output, fc.nat({ max: 10 ** 12 }), (grants, tokens, laterMs) => {
        const { state } = given(...lifeOf(grants));
        const command = record(request(1, tokens));
        const first = decide(command, state);
        vi.useFakeTimers({ now: ms(END) + laterMs });
        try {
          expect(decide(command, state)).toEqual(first);
        } finally {
          vi.useRealTimers();
        }
      }),
    );
  });

  test('something is owed only where nothing is left that had not expired when the request started', () => {
    let owed = 0;
    fc.assert(
      fc.property(anyGrants, output, (grants, tokens) => {
        const after = openAccount(settle(lifeOf(grants), 1, tokens));
        if (after.uncovered === 0n) return;
        owed += 1;
        for (const { remaining, expiresAtMs } of after.grants)
          expect(remaining === 0n || (expiresAtMs ?? Number.MAX_SAFE_INTEGER) <= ms(START)).toBe(true);
        expect(usableCredits(after.grants, ms(END))).toBe(0n);
      }),
    );
    expect(owed).toBeGreaterThan(10);
  });
});

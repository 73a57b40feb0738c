import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StoredEvent } from '../../../ledger/audit/stored-event.ts';
import { live, liveInTime, lives, type TimedStep } from '../../fixtures/ledger/random-life.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';
import { accountBooks } from './account-books.ts';
import { LIFE_PRICES } from './life-prices.ts';

/** The auditor of the runs over lives that no run of seconds has: grants that expire and come back. */

/** As `gateway ledger events` prints them. */
const stored = (steps: readonly TimedStep[]): StoredEvent[] =>
  recordedLife(liveInTime(steps)).map(({ revision, position, id, type, data, metadata }) => ({
    ...{ revision, position, id, type, data: JSON.parse(data), metadata: JSON.parse(metadata) },
  }));

/** Nothing has admitted the requests of these lives, so they may spend more than there is. */
const isOverspent = (fault: string): boolean => fault.includes(': the balance falls to -');

const faultsOf = (events: readonly StoredEvent[]): string[] =>
  accountBooks('acme', events, LIFE_PRICES).faults.filter((fault) => !isOverspent(fault));

it('finds no fault in any life of an account', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(lives, (steps) => {
      expect(faultsOf(stored(steps))).toEqual([]);
      for (const { type } of live(steps)) seen.set(type, (seen.get(type) ?? 0) + 1);
    }),
    { numRuns: 150 },
  );
  for (const type of [...MOVES_MONEY, 'LateUsageReported']) expect(seen.get(type) ?? 0, type).toBeGreaterThan(0);
});

it('finds a micro-USD that an expiry, a return or an approval takes or gives too much, and one that is left away', () => {
  const found = new Map<string, number>();
  fc.assert(
    fc.property(lives, fc.nat(), fc.boolean(), (steps, which, isGone) => {
      const events = stored(steps);
      const money = events.filter(({ type }) => MOVES_MONEY.has(type));
      // Of a type that the life has, whether it has many of them or few.
      const ofTypes = [...Map.groupBy(money, ({ type }) => type).values()];
      const target = ofTypes[which % Math.max(1, ofTypes.length)]?.[0];
      if (target === undefined) return;
      const changed = events.flatMap((event) => (event !== target ? [event] : isGone ? [] : [withMore(event)]));
      const renumbered = changed.map((event, revision) => ({ ...event, revision }));
      // More may come back, as far as the return alone tells.
      const mayBeSo = isGone || target.type === 'CreditsReinstated';
      if (mayBeSo && !isMissed(target, renumbered)) return;
      expect(faultsOf(renumbered)).not.toEqual([]);
      found.set(target.type, (found.get(target.type) ?? 0) + 1);
    }),
    { numRuns: 800 },
  );
  expect([...found.keys()].toSorted()).toEqual([...MOVES_MONEY].toSorted());
});

const MOVES_MONEY: ReadonlySet<string> = new Set(
  'CreditsExpired CreditsReinstated ExceptionApproved GrantRevoked GrantRestored DebitReversed BalanceAdjusted'.split(
    ' ',
  ),
);

const withMore = (event: StoredEvent): StoredEvent => {
  const data = event.data as { readonly amount: string };
  return { ...event, data: { ...data, amount: String(BigInt(data.amount) + 1n) } };
};

/** Each debit says what the balance is after it; without one there is nothing to tell it by. */
const isMissed = ({ revision, data }: StoredEvent, events: readonly StoredEvent[]): boolean =>
  (data as { readonly amount: string }).amount !== '0' &&
  events.slice(revision).some(({ type }) => type === 'CreditsDebited');

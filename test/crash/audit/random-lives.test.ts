import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StoredEvent } from '../../../ledger/audit/stored-event.ts';
import { live, liveInTime, lives, PRICE, type TimedStep } from '../../fixtures/ledger/random-life.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';
import type { ModelPrices } from '../crash-catalog.ts';
import { accountBooks } from './account-books.ts';

/** The auditor of the runs over lives that no run of seconds has: grants that expire and come back. */
const prices: ReadonlyMap<string, ModelPrices> = new Map([
  [
    'opal-medium',
    {
      input: PRICE.input,
      output: PRICE.output,
      cacheRead: PRICE.input / 10n,
      cacheWrite5m: (PRICE.input * 5n) / 4n,
      cacheWrite1h: PRICE.input * 2n,
      hasFastLane: PRICE.hasFast,
      uses: new Map(),
      hasLongWindow: false,
      isCancelled: false,
    },
  ],
]);

/** As `gateway ledger events` prints them. */
const stored = (steps: readonly TimedStep[]): StoredEvent[] =>
  recordedLife(liveInTime(steps)).map(({ revision, position, id, type, data, metadata }) => ({
    ...{ revision, position, id, type, data: JSON.parse(data), metadata: JSON.parse(metadata) },
  }));

/** Nothing has admitted the requests of these lives, so they may spend more than there is. */
const isOverspent = (fault: string): boolean => fault.includes(': the balance falls to -');

const faultsOf = (events: readonly StoredEvent[]): string[] =>
  accountBooks('acme', events, prices).faults.filter((fault) => !isOverspent(fault));

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
      const target = money[which % Math.max(1, money.length)];
      if (target === undefined) return;
      const changed = events.flatMap((event) => (event !== target ? [event] : isGone ? [] : [withMore(event)]));
      const renumbered = changed.map((event, revision) => ({ ...event, revision }));
      // More may come back, as far as the return alone tells.
      const mayBeSo = isGone || target.type === 'CreditsReinstated';
      if (mayBeSo && !isMissed(target, renumbered)) return;
      expect(faultsOf(renumbered)).not.toEqual([]);
      found.set(target.type, (found.get(target.type) ?? 0) + 1);
    }),
    { numRuns: 500 },
  );
  expect([...found.keys()].toSorted()).toEqual([...MOVES_MONEY].toSorted());
});

const MOVES_MONEY: ReadonlySet<string> = new Set(
  'CreditsExpired CreditsReinstated ExceptionApproved GrantRevoked GrantRestored'.split(' '),
);

const withMore = (event: StoredEvent): StoredEvent => {
  const data = event.data as { readonly amount: string };
  return { ...event, data: { ...data, amount: String(BigInt(data.amount) + 1n) } };
};

/** Each debit says what the balance is after it; without one there is nothing to tell it by. */
const isMissed = ({ revision, data }: StoredEvent, events: readonly StoredEvent[]): boolean =>
  (data as { readonly amount: string }).amount !== '0' &&
  events.slice(revision).some(({ type }) => type === 'CreditsDebited');

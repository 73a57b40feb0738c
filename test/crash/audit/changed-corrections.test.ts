import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { StoredEvent } from '../../../ledger/audit/stored-event.ts';
import { liveInTime, lives } from '../../fixtures/ledger/random-life.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';
import { accountBooks } from './account-books.ts';
import { LIFE_PRICES } from './life-prices.ts';

type Figures = Readonly<Record<string, unknown>>;

/** Which figures a correction of each type has; who pays debts (`setOff`) is seldom there: ../../ledger/audit/set-off.test.ts. */
const FIGURES: Readonly<Record<string, readonly string[]>> = {
  GrantRevoked: ['amount', 'taken', 'uncovered', 'balanceAfter'],
  GrantRestored: ['amount', 'uncovered', 'owedLess', 'balanceAfter', 'reinstated'],
  DebitReversed: [
    ...['amount', 'uncovered', 'owedLess', 'balanceAfter', 'reinstated'],
    ...['monthToDateAfter', 'keyMonthToDateAfter'],
  ],
  BalanceAdjusted: ['amount', 'uncovered', 'balanceAfter', 'shares'],
};

const more = (amount: unknown): string => String(BigInt(String(amount)) + 1n);

/** One more of a figure; of a list, of its first part. Null where there is none. */
function changed(data: Figures, figure: string): Figures | null {
  const value = data[figure];
  if (!Array.isArray(value)) return { ...data, [figure]: more(value) };
  const [first, ...others] = value as readonly { readonly amount: string }[];
  return first === undefined ? null : { ...data, [figure]: [{ ...first, amount: more(first.amount) }, ...others] };
}

it('finds each figure of a correction that is another', () => {
  const found = new Set<string>();
  fc.assert(
    fc.property(lives, fc.nat(), fc.nat(), (steps, which, at) => {
      const events: StoredEvent[] = recordedLife(liveInTime(steps)).map((event) => ({
        ...{ ...event, data: JSON.parse(event.data), metadata: JSON.parse(event.metadata) },
      }));
      // Of each figure that this life has as often: some are seldom there.
      const changes = Map.groupBy(
        events.flatMap((event) =>
          (FIGURES[event.type] ?? []).flatMap((figure) => {
            const data = changed(event.data as Figures, figure);
            return data === null ? [] : [{ event, data, name: `${event.type} ${figure}` }];
          }),
        ),
        ({ name }) => name,
      );
      const ofFigure = [...changes.values()][at % Math.max(1, changes.size)] ?? [];
      const change = ofFigure[which % Math.max(1, ofFigure.length)];
      if (change === undefined) return;
      const { event: target, data, name } = change;
      const { faults } = accountBooks(
        'acme',
        events.map((event) => (event === target ? { ...event, data } : event)),
        LIFE_PRICES,
      );
      expect(
        faults.filter((fault) => !fault.includes(': the balance falls to -')),
        name,
      ).not.toEqual([]);
      found.add(name);
    }),
    { numRuns: 400 },
  );
  const all = Object.entries(FIGURES).flatMap(([type, figures]) => figures.map((figure) => `${type} ${figure}`));
  expect([...found].toSorted()).toEqual(all.toSorted());
});

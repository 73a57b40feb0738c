import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { revision } from '../../contracts/ids.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { MonthlyView } from '../../projections/monthly-view.ts';
import type { ViewRow } from '../../projections/view.ts';
import { ACCOUNT, CARD, granted, keyIssued, openAccount, opened, usageOf } from '../ledger/account/example-account.ts';
import { live, lives } from '../ledger/account/random-life.ts';

const BEFORE = [opened, granted('g', 1_000_000), keyIssued()];

function viewOf(events: readonly AccountEvent[]): MonthlyView {
  const view = new MonthlyView();
  for (const [index, event] of events.entries()) view.apply(ACCOUNT, revision(index), event);
  return view;
}
function settled(...usages: readonly ReturnType<typeof usageOf>[]): AccountEvent[] {
  const life = [...BEFORE];
  for (const usage of usages) life.push(...recordUsage(openAccount(life), usage, CARD));
  return life;
}
const linesOf = (view: MonthlyView, month: string) =>
  view
    .linesOf(ACCOUNT, month)
    .map(
      ({ model, tokenClass, lane, requests, tokens, amount }) =>
        `${model} ${tokenClass} ${lane} ${requests} ${tokens} ${amount}`,
    )
    .sort();
function rowsOf(changes: Iterator<ViewRow>): ViewRow[] {
  const rows: ViewRow[] = [];
  for (let next = changes.next(); next.done !== true; next = changes.next()) rows.push(next.value);
  return rows;
}

describe('an account’s month', () => {
  test('has a line for each model, token class and lane', () => {
    const view = viewOf(
      settled(
        usageOf(1, 3, { tokens: { input: 10, output: 3, cacheRead: 5, cacheWrite5m: 0, cacheWrite1h: 0 } }),
        usageOf(2, 4),
        usageOf(3, 2, { lane: 'fast' }),
        usageOf(4, 1, { model: 'granite-pro' }),
      ),
    );
    expect(linesOf(view, '2026-11')).toEqual([
      'granite-pro output standard 1 1 1000000',
      'opal-medium cacheRead standard 1 5 10',
      'opal-medium input standard 1 10 200',
      'opal-medium output fast 1 2 4000000',
      'opal-medium output standard 2 7 7000000',
    ]);
  });

  test('is that in which the request started', () => {
    const view = viewOf(
      settled(usageOf(1, 3, { startedAt: '2026-11-30T23:59:59.999Z', finishedAt: '2026-12-01T00:10:00.000Z' })),
    );
    expect(linesOf(view, '2026-11')).toEqual(['opal-medium output standard 1 3 3000000']);
    expect(linesOf(view, '2026-12')).toEqual([]);
  });

  test('counts tokens that were not charged, and no cost for them', () => {
    const view = viewOf(settled(usageOf(1, 3, { billable: false }), usageOf(2, 4)));
    expect(linesOf(view, '2026-11')).toEqual(['opal-medium output standard 2 7 4000000']);
  });

  test('of nobody is empty', () => {
    expect(viewOf([]).linesOf(ACCOUNT, '2026-11')).toEqual([]);
  });

  test('adds up to what was recorded and debited, in any life', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const events = live(steps);
        const view = viewOf(events);
        const tokens = new Map<string, number>();
        const costs = new Map<string, bigint>();
        const add = (month: string, tokenClass: string, count: number) => {
          if (count > 0) tokens.set(`${month} ${tokenClass}`, (tokens.get(`${month} ${tokenClass}`) ?? 0) + count);
        };
        for (const { type, data } of events) {
          if (type === 'UsageRecorded')
            for (const [name, count] of Object.entries(data.tokens)) add(data.startedAt.slice(0, 7), name, count);
          if (type === 'CreditsDebited') costs.set(data.month, (costs.get(data.month) ?? 0n) + data.cost);
        }
        const seen = new Map<string, number>();
        for (const month of ['2026-12', '2027-01', '2027-02', '2027-03']) {
          let cost = 0n;
          for (const line of view.linesOf(ACCOUNT, month)) {
            const at = `${month} ${line.tokenClass}`;
            seen.set(at, (seen.get(at) ?? 0) + line.tokens);
            cost += line.amount;
          }
          expect(cost).toBe(costs.get(month) ?? 0n);
        }
        expect(seen).toEqual(tokens);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the rows', () => {
  const life = settled(usageOf(1, 3), usageOf(2, 4, { model: 'granite-pro' }));

  test('are those that changed since they were last taken', () => {
    const view = viewOf(life);
    expect(rowsOf(view.takeChanges()).map(({ values }) => values.join(' '))).toEqual([
      'acme 2026-11 opal-medium output standard 1 3 3000000',
      'acme 2026-11 granite-pro output standard 1 4 4000000',
      'acme 6',
    ]);
    expect(rowsOf(view.takeChanges())).toEqual([]);
    view.apply(ACCOUNT, revision(7), { type: 'PlanChanged', data: { plan: 'team' } });
    expect(rowsOf(view.takeChanges()).map(({ values }) => values)).toEqual([['acme', 7]]);
  });

  test('give the same view back', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const view = viewOf(live(steps));
        const restored = new MonthlyView();
        for (const { table, values } of rowsOf(view.takeChanges())) restored.restore(table, values);
        expect(restored.revisionOf(ACCOUNT)).toBe(view.revisionOf(ACCOUNT));
        for (const month of ['2026-12', '2027-01', '2027-02'])
          expect(linesOf(restored, month)).toEqual(linesOf(view, month));
      }),
      { numRuns: 40 },
    );
  });

  test('of an account never say a revision that its lines do not hold, also when events come between two of them', () => {
    const next = settled(usageOf(1, 3), usageOf(2, 4, { model: 'granite-pro' }), usageOf(3, 5));
    for (let pause = 1; pause <= 3; pause++) {
      const view = viewOf(life);
      const restored = new MonthlyView();
      const changes = view.takeChanges();
      for (let taken = 1, row = changes.next(); row.done !== true; taken++, row = changes.next()) {
        restored.restore(row.value.table, row.value.values);
        // The flush gives way to requests here, and one of them is settled.
        if (taken === pause)
          for (let at = life.length; at < next.length; at++)
            view.apply(ACCOUNT, revision(at), next[at] as AccountEvent);
      }
      // After a crash, the restored view folds what comes after the revision that it says it has.
      for (let at = restored.revisionOf(ACCOUNT) + 1; at < next.length; at++)
        restored.apply(ACCOUNT, revision(at), next[at] as AccountEvent);
      expect(linesOf(restored, '2026-11'), `after ${pause} rows`).toEqual(linesOf(viewOf(next), '2026-11'));
    }
  });

  test('of a token class that nobody knows are not restored', () => {
    const [row] = rowsOf(viewOf(life).takeChanges());
    if (row === undefined) throw new Error('no row');
    const values = row.values.map((value) => (value === 'output' ? 'thoughts' : value));
    expect(() => new MonthlyView().restore(row.table, values)).toThrow(/unknown token class thoughts/);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { keyId, revision } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { decide } from '../../ledger/account/decide.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { MonthlyView } from '../../projections/monthly-view.ts';
import type { ViewRow } from '../../projections/view.ts';
import { ACCOUNT, CARD, granted, keyIssued, openAccount, opened, usageOf } from '../fixtures/ledger/example-account.ts';
import { live, lives } from '../fixtures/ledger/random-life.ts';
import { storedRows } from './stored-rows.ts';

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
    .map(({ model, item, lane, requests, count, amount }) => `${model} ${item} ${lane} ${requests} ${count} ${amount}`)
    .sort();
function rowsOf(changes: Iterator<ViewRow>): ViewRow[] {
  const rows: ViewRow[] = [];
  for (let next = changes.next(); next.done !== true; next = changes.next()) rows.push(next.value);
  return rows;
}

describe('an account’s month', () => {
  test('has a line for each model, item and lane', () => {
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

  test('has as many lines as a provider has names for uses, and only those that have changed are written', () => {
    const view = new MonthlyView();
    const use = (at: number, names: readonly string[]) => {
      const uses = Object.fromEntries(names.map((name) => [name, 2]));
      view.apply(ACCOUNT, revision(at), { type: 'UsageRecorded', data: usageOf(at, 0, { uses }) });
      return rowsOf(view.takeChanges()).map(({ values }) => `${values[3]} ${values[6]}`);
    };
    const names = Array.from({ length: 100 }, (_, index) => `use_${index}`);
    expect(use(0, names).filter((row) => row.startsWith('use:'))).toEqual(names.map((name) => `use:${name} 2`));
    const changed = use(1, ['use_7', 'use_99', 'another']).filter((row) => row.startsWith('use:'));
    expect(changed).toEqual(['use:use_7 4', 'use:use_99 4', 'use:another 2']);
    expect(linesOf(view, '2026-11').filter((line) => line.includes(' use:'))).toHaveLength(101);
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

  test('counts uses, and what a hold left out until it is approved', () => {
    const usage = usageOf(1, 70, { hold: microUsd(20n), uses: { web_search_requests: 2 } });
    const life = settled(usage);
    const lines = (events: readonly AccountEvent[]) => linesOf(viewOf(events), '2026-11');
    expect(lines(life)).toEqual([
      'opal-medium exceptions standard 0 0 -50000000',
      'opal-medium output standard 1 70 70000000',
      'opal-medium use:web_search_requests standard 1 2 0',
    ]);
    const { requestId } = usage;
    const approved = decide({ type: 'ApproveException', requestId, reason: 'x', actor: 'x' }, openAccount(life));
    if ('type' in approved) throw new Error(approved.message);
    expect(lines([...life, ...approved])[0]).toBe('opal-medium exceptions standard 0 0 0');
  });

  test('adds up counts beyond what a number holds, and keeps them', () => {
    const life = settled(usageOf(1, Number.MAX_SAFE_INTEGER), usageOf(2, Number.MAX_SAFE_INTEGER));
    const view = viewOf(life);
    const restored = new MonthlyView();
    restored.restore(storedRows(rowsOf(view.takeChanges())));
    for (const one of [view, restored])
      expect(one.linesOf(ACCOUNT, '2026-11')[0]).toMatchObject({ count: 18_014_398_509_481_982n });
  });

  test('of nobody is empty', () => {
    expect(viewOf([]).linesOf(ACCOUNT, '2026-11')).toEqual([]);
  });

  test('adds up to what was recorded and debited, in any life', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const events = live(steps);
        const view = viewOf(events);
        const tokens = new Map<string, bigint>();
        const costs = new Map<string, bigint>();
        const add = (month: string, tokenClass: string, count: number) => {
          const at = `${month} ${tokenClass}`;
          if (count > 0) tokens.set(at, (tokens.get(at) ?? 0n) + BigInt(count));
        };
        for (const { type, data } of events) {
          const usage = type === 'UsageRecorded' ? data : type === 'LateUsageReported' ? data.usage : null;
          for (const [name, count] of Object.entries(usage?.tokens ?? {}))
            add(usage?.startedAt.slice(0, 7) ?? '', name, count);
          if (type === 'DebitReversed') costs.set(data.month, (costs.get(data.month) ?? 0n) - data.amount * 1_000_000n);
          if (type !== 'CreditsDebited' && type !== 'ExceptionApproved') continue;
          // What was debited, exact: the amount, and what the carry has become.
          const debited = data.amount * 1_000_000n + data.carryAfter - data.carryBefore;
          costs.set(data.month, (costs.get(data.month) ?? 0n) + debited);
        }
        const seen = new Map<string, bigint>();
        for (const month of ['2026-12', '2027-01', '2027-02', '2027-03']) {
          let cost = 0n;
          for (const line of view.linesOf(ACCOUNT, month)) {
            const at = `${month} ${line.item}`;
            if (line.item !== 'exceptions' && line.item !== 'reversals')
              seen.set(at, (seen.get(at) ?? 0n) + line.count);
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

describe('when a key was last used', () => {
  const [early, late, later] = ['2026-11-06T11:59:00.000Z', '2026-11-06T12:00:00.000Z', '2026-12-01T00:00:00.000Z'];
  const uses = (view: MonthlyView) =>
    rowsOf(view.takeChanges())
      .filter(({ table }) => table.name.endsWith('_last_use'))
      .map(({ values }) => values.join(' '));
  function use(view: MonthlyView, key: string, startedAt: string): void {
    const at = revision(view.revisionOf(ACCOUNT) + 1);
    const data = usageOf(at, 1, { keyId: keyId(key), startedAt, billable: false });
    view.apply(ACCOUNT, at, { type: 'UsageRecorded', data });
  }

  test('is when the newest of its requests started, whatever the order of their ends, of no other key', () => {
    const view = new MonthlyView();
    for (const startedAt of [late, early]) use(view, 'key_a', startedAt);
    use(view, 'key_b', early);
    expect([...view.lastUsesOf(ACCOUNT)]).toEqual([
      ['key_a', late],
      ['key_b', early],
    ]);
    expect(view.lastUsesOf(ACCOUNT).at(keyId('key_c'))).toBe(null);
  });

  test('is one row a key and flush, and none of a key that was not used since, or earlier', () => {
    const view = new MonthlyView();
    for (const startedAt of [early, late, late]) use(view, 'key_a', startedAt);
    use(view, 'key_b', late);
    expect(uses(view)).toEqual([`acme key_a ${late}`, `acme key_b ${late}`]);
    use(view, 'key_a', early);
    use(view, 'key_b', later);
    expect(uses(view)).toEqual([`acme key_b ${later}`]);
    expect(uses(view)).toEqual([]);
  });

  test('is known after a restart, too: of an account that is asked for then, an earlier request writes nothing', () => {
    const before = new MonthlyView();
    use(before, 'key_a', late);
    const view = new MonthlyView();
    view.restore(storedRows(rowsOf(before.takeChanges())));
    use(view, 'key_a', early);
    expect([uses(view), view.lastUsesOf(ACCOUNT).at(keyId('key_a'))]).toEqual([[], late]);
    use(view, 'key_a', later);
    expect(uses(view)).toEqual([`acme key_a ${later}`]);
  });

  test('is handed out to be gone on with, and stays what it was here', () => {
    const view = new MonthlyView();
    use(view, 'key_a', early);
    const data = usageOf(7, 1, { keyId: keyId('key_a'), startedAt: late });
    expect(view.lastUsesOf(ACCOUNT).take({ type: 'UsageRecorded', data })).toBe('key_a');
    expect(view.lastUsesOf(ACCOUNT).at(keyId('key_a'))).toBe(early);
  });
});

describe('the rows', () => {
  const life = settled(usageOf(1, 3), usageOf(2, 4, { model: 'granite-pro' }));

  test('are those that changed since they were last taken', () => {
    const view = viewOf(life);
    expect(rowsOf(view.takeChanges()).map(({ values }) => values.join(' '))).toEqual([
      'acme 2026-11 opal-medium output standard 1 3 3000000',
      'acme 2026-11 granite-pro output standard 1 4 4000000',
      'acme key_a 2026-11-06T12:00:00.000Z',
      'acme 6',
    ]);
    expect(rowsOf(view.takeChanges())).toEqual([]);
    view.apply(ACCOUNT, revision(7), { type: 'PlanChanged', data: { plan: 'team', terms: null } });
    expect(rowsOf(view.takeChanges()).map(({ values }) => values)).toEqual([['acme', 7]]);
  });

  test('give the same view back', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const view = viewOf(live(steps));
        const restored = new MonthlyView();
        restored.restore(storedRows(rowsOf(view.takeChanges())));
        expect(restored.revisionOf(ACCOUNT)).toBe(view.revisionOf(ACCOUNT));
        expect([...restored.lastUsesOf(ACCOUNT)].sort()).toEqual([...view.lastUsesOf(ACCOUNT)].sort());
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
      const rows: ViewRow[] = [];
      const changes = view.takeChanges();
      for (let taken = 1, row = changes.next(); row.done !== true; taken++, row = changes.next()) {
        rows.push(row.value);
        // The flush gives way to requests here, and one of them is settled.
        if (taken === pause)
          for (let at = life.length; at < next.length; at++)
            view.apply(ACCOUNT, revision(at), next[at] as AccountEvent);
      }
      const restored = new MonthlyView();
      restored.restore(storedRows(rows));
      // After a crash, the restored view folds what comes after the revision that it says it has.
      for (let at = restored.revisionOf(ACCOUNT) + 1; at < next.length; at++)
        restored.apply(ACCOUNT, revision(at), next[at] as AccountEvent);
      expect(linesOf(restored, '2026-11'), `after ${pause} rows`).toEqual(linesOf(viewOf(next), '2026-11'));
    }
  });

  test('of version 2 say nothing of last uses, and those of any before nothing at all', () => {
    const tables = new MonthlyView().olderTables(2)?.map(({ from, to }) => [from.name, to.name]);
    expect(tables).toEqual([
      ['monthly_v2', 'monthly_v3'],
      ['monthly_v2_revision', 'monthly_v3_revision'],
    ]);
    expect([1, 3, 4].map((version) => new MonthlyView().olderTables(version))).toEqual([null, null, null]);
  });

  test('that are cleared are gone, also those that were asked for last', () => {
    const view = viewOf(settled(usageOf(1, 10)));
    expect(linesOf(view, '2026-11')).not.toEqual([]);
    view.clear();
    expect([linesOf(view, '2026-11'), [...view.lastUsesOf(ACCOUNT)], view.revisionOf(ACCOUNT)]).toEqual([[], [], -1]);
  });

  test('of an item that nobody knows are not restored', () => {
    const restored = new MonthlyView();
    restored.restore(
      storedRows(
        rowsOf(viewOf(life).takeChanges()).map(({ table, values }) => ({
          table,
          values: values.map((value) => (value === 'output' ? 'thoughts' : value)),
        })),
      ),
    );
    expect(() => restored.revisionOf(ACCOUNT)).toThrow(/unknown item thoughts/);
  });
});

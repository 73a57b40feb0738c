import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { attemptId, keyId, paymentId, revision } from '../../contracts/ids.ts';
import { evolve } from '../../ledger/account/evolve.ts';
import { BalanceView } from '../../projections/balance-view.ts';
import type { ViewRow } from '../../projections/view.ts';
import { given } from '../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  granted,
  KEY,
  keyIssued,
  lifeWith,
  limitSet,
  ms,
  OPENED_AT,
  openAccount,
  opened,
  record,
  requestOf,
  usageOf,
  usd,
} from '../fixtures/ledger/example-account.ts';
import { attempted } from '../fixtures/ledger/many-attempts.ts';
import { BEYOND_EACH, beyond, lifeWithExceptions } from '../fixtures/ledger/many-exceptions.ts';
import { lifeWithKeys } from '../fixtures/ledger/many-keys.ts';
import { storedRows } from './stored-rows.ts';

const EACH = 500;
const life = lifeWithExceptions(EACH);

function viewOf(events: readonly AccountEvent[]): BalanceView {
  const view = new BalanceView();
  for (const event of events) follow(view, event);
  return view;
}
const follow = (view: BalanceView, event: AccountEvent) =>
  view.apply(ACCOUNT, revision(view.revisionOf(ACCOUNT) + 1), event);

function restored(rows: readonly ViewRow[]): BalanceView {
  const view = new BalanceView();
  view.restore(storedRows(rows));
  Array.from(
    view.survey(
      () => undefined,
      () => undefined,
    ),
  );
  return view;
}

const inText = (_name: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);

const dropped: AccountEvent = {
  type: 'ExceptionDropped',
  data: { requestId: requestOf(3), amount: BEYOND_EACH as never, reason: 'x', actor: 'operator' },
};

describe('the balance view', () => {
  test('gives back from its rows what they were made of, with the sums over all accounts', () => {
    const view = viewOf(life);
    const again = restored([...view.takeChanges()]);
    expect(again.read(ACCOUNT)).toEqual(view.read(ACCOUNT));
    expect(view.openExceptions).toEqual({ count: EACH, amount: BigInt(EACH) * BEYOND_EACH });
    expect(again.openExceptions).toEqual(view.openExceptions);
    follow(again, dropped);
    expect(again.openExceptions).toEqual({ count: EACH - 1, amount: BigInt(EACH - 1) * BEYOND_EACH });
    again.clear();
    expect(again.openExceptions).toEqual({ count: 0, amount: 0n });
  });

  test('writes of thousands of exceptions those that have changed, whatever else has', () => {
    const view = viewOf(life);
    // And its key, with what it has spent.
    expect([...view.takeChanges()]).toHaveLength(1 + 2 * EACH + 2);
    const next = given(...life).decided(record(beyond(2 * EACH + 1)));
    for (const event of next) follow(view, event);
    const rows = [...view.takeChanges()];
    expect(rows.map(({ values }) => values[1])).toEqual([
      ...[view.revisionOf(ACCOUNT), `2026-11 ${KEY}`, requestOf(2 * EACH + 1)],
    ]);
    expect(JSON.stringify(rows.map(({ values }) => values)).length).toBeLessThan(3_000);
    follow(view, dropped);
    expect([...view.takeChanges()].map(({ values }) => values.slice(1, 3))).toEqual([
      [view.revisionOf(ACCOUNT), 'owner@example.com'],
      [requestOf(3), 'dropped'],
    ]);
  });

  test.each<[string, (view: BalanceView) => unknown]>([
    ['one', (view) => view.read(ACCOUNT).state],
    ['all in memory', (view) => [...view.loaded()][0]?.[1]],
    ['all', (view) => [...view.all()][0]?.[1]],
  ])('leaves what somebody has read as it was, whatever is folded after: %s', (_of, read) => {
    const events = lifeWith([opened, granted('g', 500), keyIssued()], usageOf(1, 10), usageOf(2, 20), usageOf(3, 30));
    const born = viewOf(events.slice(0, 1));
    for (const view of [born, restored([...born.takeChanges()])]) {
      const states = events.slice(1).map((event) => {
        follow(view, event);
        return read(view);
      });
      expect(states).toEqual(events.slice(1).map((_, index) => openAccount(events.slice(0, index + 2))));
      // And what nobody has read meanwhile is the same in the end.
      expect(viewOf(events).read(ACCOUNT)).toEqual(view.read(ACCOUNT));
      view.clear();
      expect(view.read(ACCOUNT).state.type).toBe('unopened');
    }
  });

  describe('of an account with thousands of keys, each with a limit and spending, and of attempts', () => {
    const lifeOf = [...lifeWithKeys(2_000), ...Array.from({ length: 2_000 }, (_, number) => attempted(number)).flat()];
    const reopened = (id: string): AccountEvent => ({
      type: 'PaymentActionRequired',
      data: { attemptId: attemptId(id), paymentId: paymentId(`of ${id}`), at: OPENED_AT },
    });

    test('gives back all from its rows, one by one and together', () => {
      const view = viewOf(lifeOf);
      const rows = [...view.takeChanges()];
      const again = restored(rows);
      expect(again.read(ACCOUNT)).toEqual(view.read(ACCOUNT));
      expect([...again.takeChanges()]).toEqual([]);
      // None of these stands in the account's own row, but the attempts that are open.
      expect(String(rows[0]?.values[4]).length).toBeLessThan(5_000);
      expect([...Map.groupBy(rows, ({ table }) => table.name).values()].map((of) => of.length)).toEqual([
        ...[1, 2_000, 2_000, 2_000, 1_999],
      ]);
    });

    test('writes those that have changed, whether they were restored, read or folded', () => {
      const made = viewOf(lifeOf);
      const rows = [...made.takeChanges()];
      for (const view of [made, restored(rows)])
        for (const isRead of [false, true]) {
          let last: AccountEvent[] = lifeOf;
          const written = (...events: readonly AccountEvent[]) => {
            const before = isRead ? view.read(ACCOUNT) : null;
            const text = JSON.stringify(before, inText);
            for (const event of events) follow(view, event);
            expect(JSON.stringify(before, inText)).toBe(text);
            last = [...last, ...events];
            return [...view.takeChanges()]
              .slice(1)
              .map(({ table, values, isGone }) => [
                ...[table.name.replace(/^balance_v\d+_/, ''), values[1], isGone === true ? 'gone' : values[2]],
              ]);
          };
          const id = keyId('key_1900');
          const spent = (amount: string) => [['spent', '2026-11 key_1900', amount]];
          const usages = [1, 2].map((number) => usageOf(number, 7, { keyId: id }));
          if (!isRead) expect(written(...lifeWith(last, ...usages).slice(last.length))).toEqual(spent('"21"'));
          expect(written(limitSet(5, id))).toEqual([['key_limit', id, '"5"']]);
          expect(written(limitSet(null, id))).toEqual([['key_limit', id, 'gone']]);
          const revoked: AccountEvent = { type: 'ApiKeyRevoked', data: { keyId: id, revokedAt: OPENED_AT } };
          expect(written(revoked)).toEqual([['key', id, expect.stringContaining(`"revokedAtMs":${ms(OPENED_AT)}`)]]);
          const purchase = isRead ? 'purchase_7' : 'purchase_8';
          expect(written(reopened(purchase))).toEqual([['attempt', purchase, 'gone']]);
          const paid = { attemptId: attemptId(purchase), provider: 'manual', paymentId: paymentId(`of ${purchase}`) };
          expect(written({ type: 'PaymentSucceeded', data: { ...paid, amount: usd(1), paidAt: OPENED_AT } })).toEqual([
            ['attempt', purchase, expect.stringContaining('"state":"paid"')],
          ]);
          expect(written(keyIssued({ keyId: keyId(`key_new_${isRead}`) }))).toEqual([
            ['key', `key_new_${isRead}`, expect.stringContaining('"number":200')],
          ]);
        }
    });
  });

  test('writes an account and its exceptions as of one revision, whatever is folded between two of its rows', () => {
    const view = viewOf(life);
    const rows: ViewRow[] = [];
    for (const row of view.takeChanges()) {
      if (rows.push(row) === 1) follow(view, dropped);
    }
    const again = restored(rows);
    expect(again.read(ACCOUNT)).toEqual({ state: openAccount(life), revision: life.length - 1 });
    follow(again, dropped);
    expect(again.read(ACCOUNT)).toEqual({ state: evolve(openAccount(life), dropped), revision: life.length });
    // And the next write brings what was folded meanwhile.
    expect([...view.takeChanges()].map(({ values }) => values[1])).toEqual([life.length, requestOf(3)]);
  });
});

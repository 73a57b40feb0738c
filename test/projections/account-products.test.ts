import { expect, it } from 'vitest';
import { HiddenStreamError } from '../../contracts/event-log.ts';
import { accountId, accountStream, revision } from '../../contracts/ids.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';
import { AccountProducts } from '../../projections/account-products.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { ACCOUNT, openedAs } from '../fixtures/ledger/example-account.ts';
import { inTurnsThroughout } from '../fixtures/ledger/turns.ts';
import { caughtUp, logOf, written } from './started-projections.ts';

inTurnsThroughout();

it('has the product of each account that is opened, and lacks any other as soon as there is one', () => {
  const products = new AccountProducts();
  expect([products.lack('gateway'), products.names]).toEqual([false, []]);
  const told: string[][] = [];
  products.onMore(() => told.push(products.names));
  for (const product of ['shop', 'images', 'shop']) products.observe(openedAs(product));
  expect(told).toEqual([['shop'], ['images', 'shop']]);
  expect(['shop', 'gateway'].map((product) => products.lack(product))).toEqual([false, true]);
  const other = new AccountProducts();
  other.adopt(products);
  expect(other.names).toEqual(['images', 'shop']);
  other.clear();
  expect([other.lack('gateway'), other.names]).toEqual([false, []]);
});

it('goes with the accounts that it is of', () => {
  const [accounts, others] = [new AccountViews(), new AccountViews()];
  accounts.fold(ACCOUNT, revision(0), openedAs('shop'));
  expect([accounts.otherProducts('gateway'), accounts.otherProducts('shop')]).toEqual([['shop'], []]);
  others.fold(ACCOUNT, revision(0), openedAs('images'));
  accounts.adopt(others);
  expect(accounts.otherProducts('gateway')).toEqual(['images']);
});

it.each(['unreadable', 'hidden'] as const)(
  'is of no use where an account that was %s from its beginning may be of any',
  (how) => {
    const accounts = new AccountViews();
    accounts.fold(ACCOUNT, revision(0), openedAs('shop'));
    const other = accountId('acct_other');
    accounts.putAside(
      other,
      how === 'hidden'
        ? new HiddenStreamError(accountStream(other), 'it was deleted')
        : new AccountUnreadableError(other, revision(0), 'of a newer program'),
    );
    expect(accounts.otherProducts('gateway')).toEqual([]);
  },
);

it('has those of restored accounts, which nobody has read', async () => {
  const log = logOf();
  const { accounts } = (await caughtUp(log, await written(log))).projections;
  expect([...accounts.balance.loaded()]).toEqual([]);
  expect(accounts.products.names).toEqual(['gateway']);
});

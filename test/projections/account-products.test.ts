import { expect, it } from 'vitest';
import { AccountProducts } from '../../projections/account-products.ts';
import { openedAs } from '../fixtures/ledger/example-account.ts';
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

it('has those of restored accounts, which nobody has read', async () => {
  const log = logOf();
  const { accounts } = (await caughtUp(log, await written(log))).projections;
  expect([...accounts.balance.loaded()]).toEqual([]);
  expect(accounts.products.names).toEqual(['gateway']);
});

import { expect, it } from 'vitest';
import type { Books } from '../../../ledger/report/books.ts';
import type { ModelBook } from '../../../ledger/report/model-books.ts';
import { MonthBooks } from '../../../ledger/report/month-books.ts';
import { bookPage } from '../../../ledger/report/page.ts';
import { SealCoverage } from '../../../ledger/report/seal-coverage.ts';

const MADE_AT = '2026-12-01T00:00:00.000Z';
const empty = new MonthBooks('2026-11', new SealCoverage('2026-11')).result();
const pageOf = (change: Partial<Books>, madeAt = MADE_AT): string => bookPage({ ...empty, ...change }, madeAt);

it('says whether its totals agree, and which do not', () => {
  expect(pageOf({})).toContain('All totals of this page agree.');
  expect(pageOf({})).not.toContain('DIFFER');
  const page = pageOf({ checks: [{ what: 'this', one: 1n, other: 2n }, ...empty.checks] });
  expect(page).toContain('Totals of this page do not agree: do not book from it');
  expect(page).not.toContain('All totals of this page agree.');
  expect(page.match(/<td class="w bad">DIFFER<\/td>/g)).toHaveLength(1);
  expect(page.match(/<td class="w good">agree<\/td>/g)).toHaveLength(empty.checks.length);
});

it('says that a month is not over until it is', () => {
  expect(pageOf({}, '2026-11-30T23:59:59.999Z')).toContain('The month is not over');
  expect(pageOf({})).not.toContain('The month is not over');
  // As a clock says that is behind.
  expect(pageOf({}, '2026-10-31T00:00:00.000Z')).toContain('The month is not over');
});

it('shows the accounts that spent the most, and the sums of all others, who may have had nothing move', () => {
  const account = (at: number, spent: bigint, granted = 0n, expired = 0n) => ({
    ...{
      id: `acct_${String(at).padStart(3, '0')}`,
      email: '',
      product: 'gateway',
      granted,
      spent,
      expired,
      balance: 1n,
    },
  });
  const spending = Array.from({ length: 52 }, (_, at) => account(at, BigInt(at + 1)));
  const accounts = [...spending, account(100, 0n, 7n), account(101, 0n, 0n, 5n), account(102, 0n)];
  const page = pageOf({ accounts });
  expect(page).toContain('Of 55 accounts 54 had something move');
  const shown = [...page.matchAll(/<td>(acct_\d+)<\/td>/g)].map(([, id]) => id);
  expect(shown).toEqual(
    spending
      .slice(2)
      .map(({ id }) => id)
      .reverse(),
  );
  expect(page).toMatch(/<td>5 others<\/td><td><\/td>(?:\s*<td class="n">0\.00000[7350]<\/td>){4}/);
  expect(pageOf({ accounts: spending.slice(0, 1) })).not.toContain('others<');
});

it('shows the sums of each product, and of which an account is, where there are several', () => {
  const moved = { granted: 9n, spent: 4n, expired: 0n, balance: 5n };
  const product = (name: string) => ({ product: name, accounts: 1, ...moved });
  const accounts = ['images', 'gateway'].map((name) => ({
    id: `of_${name}`,
    email: 'ada@example.com',
    product: name,
    ...moved,
  }));
  const page = pageOf({ accounts, products: [product('gateway'), product('images')] }).replaceAll('\n', '');
  expect(page).toMatch(
    /<td>images<\/td><td class="n">1<\/td><td class="n">0\.000009<\/td><td class="n">0\.000004<\/td>/,
  );
  expect(page).toMatch(/<td>of_images<\/td><td>ada@example\.com<\/td><td>images<\/td><td class="n">/);
  expect(page).toContain('<th scope="col">account</th><th scope="col">e-mail</th><th scope="col">product</th>');
  const one = pageOf({ accounts: accounts.slice(1), products: [product('gateway')] });
  expect(one).toContain('<td>of_gateway</td><td>ada@example.com</td><td class="n">');
  expect(one).not.toContain('<h2>Products');
  expect(pageOf({ product: 'images' })).toContain('Books of 2026-11, images');
});

it('plots the models that earned the most, by lane, and all others as one', () => {
  const model = (at: number, earned: bigint): ModelBook => ({
    ...{ model: `opal-${at}`, lane: at === 1 ? 'fast' : 'standard', requests: 1, spent: earned, fromPaid: earned },
    ...{
      fromGiven: 0n,
      owed: 0n,
      earned,
      tokens: { input: 0n, output: 0n, cacheRead: 0n, cacheWrite5m: 0n, cacheWrite1h: 0n },
    },
  });
  const models = Array.from({ length: 14 }, (_, at) => model(at, BigInt(100 - at)));
  const barsOf = (page: string) =>
    [...page.matchAll(/<text class="label" x="202"[^>]*>([^<]*)/g)].map(([, label]) => label);
  const bars = barsOf(pageOf({ models: models.toReversed() }));
  expect(bars.slice(-13)).toEqual([
    ...Array.from({ length: 12 }, (_, at) => (at === 1 ? 'opal-1 (fast)' : `opal-${at}`)),
    'all others',
  ]);
  expect(pageOf({ models })).toContain('0.000175 USD');
  expect(barsOf(pageOf({ models: models.slice(0, 12) }))).not.toContain('all others');
});

it('counts the credits of plans among those that were sold, where they cost something', () => {
  const granted = { ...empty.moved.granted, purchase: { count: 1, amount: 5n, sold: 5n, paid: 5n } };
  const moved = { ...empty.moved, granted: { ...granted, plan: { count: 2, amount: 9n, sold: 7n, paid: 7n } } };
  expect(pageOf({ moved })).toContain('<b>0.000012 USD</b><span>credits sold</span>');
});

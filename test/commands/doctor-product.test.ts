import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { viewFilesOf } from '../../projections/view-files.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { doctor } from './doctored.ts';

/** A configuration of a product, for a data folder. */
function configured(data: string, product: string): string {
  const config = join(temporaryFolder(), 'gateway.json');
  writeFileSync(config, JSON.stringify({ data, listen: { port: 0 }, logLevel: 'silent', product }));
  return config;
}

const open = async (data: string, product: string, id = `acct_${product}`, ...named: readonly string[]) => {
  const account = ['account', 'open', '--email', 'a@example.com', '--id', id, ...named];
  const opened = await runHere('--config', configured(data, product), ...account);
  expect(opened).toMatchObject({ exitCode: 0 });
  return opened;
};

const productOf = async (data: string, product: string) => {
  const { exitCode, of } = await doctor(configured(data, product));
  return [exitCode, of('product')];
};
const ok = (says: string) => [0, { check: 'product', state: 'ok', says, advice: null }];
const lacking = (product: string, others: string) => [
  0,
  {
    ...{ check: 'product', state: 'warn', advice: expect.stringMatching(/^mend `product` in the configuration: /) },
    says: `no account of the ledger is of ${product}, the product of this configuration; there are those of ${others}`,
  },
];

it('a product that no account is of is told, by the log where there are no views, by them, and by what was opened since', async () => {
  const data = join(temporaryFolder(), 'data');
  await open(data, 'shop');
  await open(data, 'images');
  expect(await productOf(data, 'gatway')).toEqual(lacking('gatway', 'images, shop'));
  expect(await productOf(data, 'shop')).toEqual(ok('shop, of which there are accounts'));
  await endedLater(await startTestGateway({ data })).stop();
  expect(await productOf(data, 'gatway')).toEqual(lacking('gatway', 'images, shop'));
  expect(await productOf(data, 'shop')).toEqual(ok('shop, of which there are accounts'));
  await open(data, 'chat');
  expect(await productOf(data, 'gatway')).toEqual(lacking('gatway', 'chat, images, shop'));
  expect(await productOf(data, 'chat')).toEqual(ok('chat, of which there are accounts'));
});

it('the first account of a product is told as that where there are others, for one that is misspelt ends all other warnings of it', async () => {
  const data = join(temporaryFolder(), 'data');
  const first = (product: string, others: string) =>
    `warning: acct_${product} is the first account of ${product}; the ledger has those of ${others}, and an account is of its product for good\n`;
  const shop = await open(data, 'shop');
  expect(shop.stdout).toContain('(personal, a@example.com, of shop)');
  expect(shop.stderr).not.toContain('first account');
  expect((await open(data, 'shpo')).stderr).toBe(first('shpo', 'shop'));
  expect((await open(data, 'shop', 'acct_more')).stderr).toBe('');
  await endedLater(await startTestGateway({ data })).stop();
  expect((await open(data, 'chat')).stderr).toBe(first('chat', 'shop, shpo'));
  const named = await open(data, 'images', 'acct_named', '--product', 'mail');
  expect(named.stderr).not.toContain('first account');
  expect(named.stderr).toContain('mail');
  const { live } = viewFilesOf(data);
  writeFileSync(live, 'no database. '.repeat(1_000));
  expect((await open(data, 'images')).stderr).toContain(
    'warning: whether there are accounts of images was not looked at: ',
  );
});

it('nothing is amiss with the product of a ledger that has no accounts', async () => {
  const data = join(temporaryFolder(), 'data');
  const catalog = fileURLToPath(new URL('../../contracts/example-catalog.yaml', import.meta.url));
  const published = await runHere('--config', configured(data, 'shop'), 'catalog', 'publish', catalog);
  expect(published.exitCode).toBe(0);
  expect(await productOf(data, 'shop')).toEqual(ok('shop; there are no accounts yet'));
});

import pino from 'pino';
import { expect, it } from 'vitest';
import { accountId, grantId, revision } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { UnservedProduct } from '../../proxy/unserved-product.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { get, refusalOf } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { ACCOUNT, opened } from '../fixtures/ledger/example-account.ts';

const open = (gateway: TestGateway, product: string): Promise<void> => {
  const id = accountId(`acct_${product}`);
  const trial = { trial: microUsd(0n), trialGrantId: grantId('grant_trial') };
  return gateway.command(
    {
      type: 'OpenAccount',
      accountId: id,
      kind: 'personal',
      email: 'a@example.com',
      product,
      ...trial,
      nowMs: Date.now(),
    },
    id,
  );
};

const readyz = async ({ url }: TestGateway) => {
  const answer = await fetch(`${url}/readyz`);
  return [answer.status, await answer.json()];
};

/** What is said of products, in order: with the others where none is served. */
const saidIn = (logLines: readonly string[]) =>
  logLines
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => /of the product of this configuration/.test(msg))
    .map(({ level, product, products }) => [level, product, products]);

const [INFO, WARN] = [30, 40];
const DEGRADED = expect.stringMatching(
  /none of the product chat, which this gateway serves: every key is unknown here/,
);

it('where no account is of the configured product the start and readiness say so, of views that are folded and restored, until one is', async () => {
  const own = await startTestGateway();
  const { data, key } = own;
  expect(await readyz(own)).toEqual([200, { ok: true }]);
  await own.stop();
  const logLines: string[] = [];
  const chat = endedLater(await startTestGateway({ data, logLines, settings: { product: 'chat' } }));
  expect(saidIn(logLines)).toEqual([[WARN, 'chat', ['gateway']]]);
  expect(logLines.find((line) => line.includes('of this configuration'))).toContain('`product` in the configuration');
  expect(await readyz(chat)).toEqual([200, { ok: true, degraded: DEGRADED }]);
  refusalOf(await get({ url: chat.url, key }, '/me'), 401);
  await open(chat, 'images');
  expect(await readyz(chat)).toEqual([200, { ok: true, degraded: DEGRADED }]);
  expect(saidIn(logLines)).toHaveLength(1);
  await open(chat, 'chat');
  expect(await readyz(chat)).toEqual([200, { ok: true }]);
  expect(saidIn(logLines)).toEqual([
    [WARN, 'chat', ['gateway']],
    [INFO, 'chat', undefined],
  ]);
});

it('a ledger whose first account is of another product is told of as that is opened', () => {
  const { accounts, unserved, lines } = scene();
  expect(unserved.describe()).toBeNull();
  accounts.fold(ACCOUNT, revision(0), opened);
  expect(saidIn(lines)).toEqual([[WARN, 'chat', ['gateway']]]);
  expect(unserved.describe()).toEqual(DEGRADED);
});

it('nothing is said while the views do not follow the ledger, nor where an account that cannot be read may be of it', () => {
  const { accounts, unserved, lines, views } = scene();
  views.isLive = false;
  accounts.fold(ACCOUNT, revision(0), opened);
  unserved.tell();
  expect([unserved.describe(), saidIn(lines)]).toEqual([null, []]);
  views.isLive = true;
  const other = accountId('acct_unread');
  accounts.putAside(other, new AccountUnreadableError(other, revision(0), 'of a newer program'));
  unserved.tell();
  expect([unserved.describe(), saidIn(lines)]).toEqual([null, []]);
  accounts.setAside.takeBack(other, 'unreadable');
  accounts.putAside(ACCOUNT, new AccountUnreadableError(ACCOUNT, revision(1), 'of a newer program'));
  unserved.tell();
  expect([unserved.describe(), saidIn(lines)]).toEqual([DEGRADED, [[WARN, 'chat', ['gateway']]]]);
});

/** Views of a ledger without accounts, and who says that none is of the product chat. */
function scene() {
  const accounts = new AccountViews();
  const lines: string[] = [];
  const views = { accounts, isLive: true };
  const logger = pino({}, { write: (line: string) => lines.push(line) });
  return { accounts, views, lines, unserved: new UnservedProduct({ product: 'chat', projections: views, logger }) };
}

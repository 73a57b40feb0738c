import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountId } from '../../../contracts/ids.ts';
import {
  ACCOUNT,
  granted,
  keyIssued,
  ms,
  OPENED_AT,
  OTHER_KEY,
  openedAs,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { toVersion6 } from '../../fixtures/ledger/older-views.ts';
import { lostOf, toldOf } from '../put-back.ts';

const NOW = ms('2026-11-20T00:00:00.000Z');
const images = openedAs('images');

it('an account that is lost is told with its product, which is its for good, and opened by what is told', async () => {
  const found = await lostOf({ kept: [], known: [images], nowMs: NOW });
  expect(found?.accounts).toMatchObject([{ accountId: ACCOUNT, account: { product: 'images' } }]);
  expect(toldOf(found)).toEqual([
    'account acme (personal, owner@example.com, plan trial, product images): gateway account open --id acme ' +
      '--kind personal --email owner@example.com --product images --trial-usd 0',
  ]);
});

it('an account that views know without a product is of the first one', async () => {
  const found = await lostOf({ kept: [], known: [openedAs('gateway')], nowMs: NOW, change: toVersion6 });
  expect(found?.accounts).toMatchObject([{ accountId: accountId('acme'), account: { product: 'gateway' } }]);
});

it("a key of a member is told as that one's, one whose rotation is lost, too", async () => {
  const key = keyIssued({ member: 'ben@example.com' });
  const other = keyIssued({ keyId: OTHER_KEY, sha256: 'b4'.repeat(32), member: 'ben@example.com' });
  const rotated: AccountEvent = {
    type: 'ApiKeyRotated',
    data: {
      ...{ keyId: OTHER_KEY, sha256: 'c5'.repeat(32), last4: 'newr', previousUntil: OPENED_AT },
      ...{ rotatedAt: OPENED_AT, by: 'owner@example.com' },
    },
  };
  const found = await lostOf({ kept: [images, other], known: [images, other, key, rotated], nowMs: NOW });
  const member = 'ben@example.com';
  expect(found?.accounts).toMatchObject([{ keys: [{ keyId: 'key_a', member }], rotatedKeys: [{ member }] }]);
  expect(toldOf(found)).toEqual([
    'key key_a of acme ("ci", …wxyz), of member ben@example.com, for all models, without end: issue another one',
    'key key_b of acme ("ci", …newr), of member ben@example.com, for all models, without end: ' +
      'its rotation is lost, and it is revoked: issue another one',
  ]);
});

it('what was paid for a grant is told where it is not what a grant by hand is taken to have cost', async () => {
  const grants = [
    granted('usual', 100, { costBasis: usd(100) }),
    granted('dear', 100, { costBasis: usd(1_234_500_000) }),
    granted('free', 100, { costBasis: usd(0) }),
    granted('gift', 100, { source: 'promotion', costBasis: usd(0) }),
    granted('plan', 100, { source: 'plan', costBasis: usd(100) }),
  ];
  const put = { kept: [images], known: [images, ...grants], nowMs: NOW };
  const costs = (lines: string[] | null) =>
    lines?.flatMap((line) => [...line.matchAll(/^grant (\w+) of acme: \w+, 0\.000100 USD(.*), 0\.000100 of it left/g)]);
  expect(
    costs(toldOf(await lostOf(put)))
      ?.map(([, id, cost]) => [id, cost])
      .toSorted(),
  ).toEqual([
    ['dear', ' (--cost-usd 1234.50)'],
    ['free', ' (--cost-usd 0.00)'],
    ['gift', ''],
    ['plan', ' (--cost-usd 0.0001)'],
    ['usual', ''],
  ]);
});

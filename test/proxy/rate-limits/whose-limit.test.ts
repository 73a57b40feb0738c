import { expect, it } from 'vitest';
import { rateLimitsSchema } from '../../../contracts/rate-limits.ts';
import { entryOf } from '../../../ledger/account/keyed-tree.ts';
import { EMPTY_CATALOG } from '../../../ledger/catalog/catalog-state.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import type { Caller } from '../../../proxy/caller.ts';
import { RateLimits } from '../../../proxy/rate-limits/rate-limits.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, granted, KEY, keyIssued, OTHER_KEY, opened } from '../../fixtures/ledger/example-account.ts';

it('of key and account the one is told that is in the way for longest', () => {
  const account = fold([
    opened,
    granted('g', 1, { source: 'purchase' }),
    keyIssued(),
    keyIssued({ keyId: OTHER_KEY, sha256: 'b'.repeat(64) }),
  ]);
  if (account.type !== 'open') throw new Error('it was opened');
  const callerBy = (keyId: typeof KEY): Caller => {
    const key = entryOf(account.keys, keyId);
    if (key === undefined) throw new Error('it was issued');
    return { type: 'caller', accountId: ACCOUNT, account, key, sha256: key.sha256 };
  };
  const limits = new RateLimits({
    configuration: rateLimitsSchema.parse({ paid: { requestsPerMinute: 20 }, keyPercent: 50 }),
    accounts: new AccountViews(),
    catalog: () => EMPTY_CATALOG,
    proxiesOf: () => 1,
    clock: () => 0,
    monotonic: () => 0,
  });
  const ask = (keyId: typeof KEY) => limits.enter(callerBy(keyId), 'message');
  for (let count = 0; count < 10; count++)
    for (const keyId of [KEY, OTHER_KEY]) expect(ask(keyId)).not.toHaveProperty('code');
  // The account has room for one again after 3 seconds, the key after 6.
  expect(ask(KEY)).toMatchObject({
    message: "the key's limit of 10 requests a minute is reached: try again in 6 seconds",
    retryAfterS: 6,
  });
});

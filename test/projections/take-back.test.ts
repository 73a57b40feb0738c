import { expect, test } from 'vitest';
import { revision } from '../../contracts/ids.ts';
import { AccountUnreadableError } from '../../ledger/account/account-event.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { TakeBack } from '../../projections/take-back.ts';
import { ACCOUNT } from '../fixtures/ledger/example-account.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';

test('a log that is away keeps nobody from closing: what waits for it ends, with the account left aside', async () => {
  const log = new LogWithOutages();
  await log.goAway();
  const accounts = new AccountViews();
  accounts.putAside(ACCOUNT, new AccountUnreadableError(ACCOUNT, revision(0), 'of an unknown type'));
  const takeBack = new TakeBack(log, accounts);
  let hasEnded = false;
  const read = takeBack.all().then(() => {
    hasEnded = true;
  });
  await expect.poll(() => log.streamReads).toBeGreaterThan(0);
  await takeBack.close();
  expect(hasEnded).toBe(true);
  await read;
  const reads = log.streamReads;
  await takeBack.all();
  expect(log.streamReads).toBe(reads);
  expect(accounts.setAside.unreadableFrom(ACCOUNT)).toBe(0);
});

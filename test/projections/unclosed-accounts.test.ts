import { expect, test } from 'vitest';
import { UnclosedAccounts } from '../../projections/unclosed-accounts.ts';
import { ACCOUNT, opened } from '../fixtures/ledger/example-account.ts';

const due = (accounts: UnclosedAccounts) => [...accounts.upTo('2027-01')];

test.each<[string, (accounts: UnclosedAccounts) => void]>([
  ['forgotten', (accounts) => accounts.forget(ACCOUNT)],
  ['cleared', (accounts) => accounts.clear()],
  ['put in the place of others', (accounts) => accounts.adopt(new UnclosedAccounts())],
])('an account that comes again is among them, also where it was the last that came: %s', (_what, gone) => {
  const accounts = new UnclosedAccounts();
  accounts.observe(ACCOUNT, opened);
  accounts.observe(ACCOUNT, opened);
  expect(due(accounts)).toEqual([ACCOUNT]);
  gone(accounts);
  expect(due(accounts)).toEqual([]);
  accounts.observe(ACCOUNT, opened);
  expect(due(accounts)).toEqual([ACCOUNT]);
});

import { expect, test } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { revision } from '../../contracts/ids.ts';
import { UnclosedAccounts } from '../../projections/unclosed-accounts.ts';
import {
  ACCOUNT,
  granted,
  keyIssued,
  lifeWith,
  openAccount,
  opened,
  usageOf,
} from '../fixtures/ledger/example-account.ts';

const due = (accounts: UnclosedAccounts) => [...accounts.upTo('2027-01')];

test.each<[string, (accounts: UnclosedAccounts) => void]>([
  ['forgotten', (accounts) => accounts.forget(ACCOUNT, [])],
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

test('one that rests is among them from the month on in which its credits end, also with what was put in the place of others', () => {
  const [first, accounts] = [new UnclosedAccounts(), new UnclosedAccounts()];
  const life = [opened, granted('g', 7, { expiresAt: '2027-02-28T23:59:59.999Z' }), granted('h', 7)];
  first.observe(ACCOUNT, opened);
  first.forget(ACCOUNT, openAccount(life).grants);
  expect(due(first)).toEqual([]);
  accounts.adopt(first);
  expect([...accounts.upTo('2027-02')]).toEqual([ACCOUNT]);
  accounts.forget(ACCOUNT, openAccount(life).grants);
  accounts.clear();
  expect([...accounts.upTo('2027-02')]).toEqual([]);
});

const at = (day: string) => ({ startedAt: `${day}T00:00:00.000Z`, finishedAt: `${day}T00:00:01.000Z` });

test.each<[string, readonly AccountEvent[], readonly string[]]>([
  ['nothing has moved its balance, is none', [opened, keyIssued()], []],
  ['it has credits since it was opened, from that month on', [opened, granted('g', 7)], ['2026-11', '2026-12']],
  [
    'its credits are of before, from theirs on',
    [opened, granted('g', 7, { effectiveAt: '2026-10-31T23:59:59.999Z' })],
    ['2026-10', '2026-11', '2026-12'],
  ],
  [
    'a request began before, from its month on',
    lifeWith([opened, keyIssued()], usageOf(1, 7, at('2026-10-01'))),
    ['2026-10', '2026-11', '2026-12'],
  ],
])('an account that was restored, has no statement, and of which %s', (_what, life, months) => {
  const accounts = new UnclosedAccounts();
  accounts.addFrom(ACCOUNT, { state: openAccount(life), revision: revision(life.length - 1) });
  const asked = ['2026-09', '2026-10', '2026-11', '2026-12'];
  expect(asked.filter((month) => [...accounts.upTo(month)].length > 0)).toEqual(months);
});

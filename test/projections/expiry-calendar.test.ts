import { expect, it } from 'vitest';
import { accountId } from '../../contracts/ids.ts';
import { ExpiryCalendar } from '../../projections/expiry-calendar.ts';
import { ACCOUNT, granted, ms, openAccount, opened } from '../fixtures/ledger/example-account.ts';

const OTHER = accountId('other');
const END = '2027-02-10T10:30:00.000Z';
const { grants } = openAccount([opened, granted('g', 7, { expiresAt: END })]);

it('has an account that comes again with the same end once', () => {
  const calendar = new ExpiryCalendar();
  for (const id of [ACCOUNT, OTHER, ACCOUNT, ACCOUNT]) calendar.add(id, grants);
  expect([...calendar.due(ms(END))]).toEqual([ACCOUNT, OTHER]);
  expect([...calendar.due(ms(END))]).toEqual([]);
});

it('keeps those that were not taken out yet, and takes out none before the hour in which its credits end', () => {
  const calendar = new ExpiryCalendar();
  for (const id of [ACCOUNT, OTHER]) calendar.add(id, grants);
  expect([...calendar.due(ms('2027-02-10T09:59:59.999Z'))]).toEqual([]);
  for (const id of calendar.due(ms('2027-02-10T10:00:00.000Z'))) {
    expect(id).toBe(ACCOUNT);
    break;
  }
  expect([...calendar.due(ms(END))]).toEqual([OTHER]);
});

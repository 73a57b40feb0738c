import { expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { revision } from '../../../contracts/ids.ts';
import { AccountUnreadableError } from '../../../ledger/account/account-unreadable-error.ts';
import { stateAt } from '../../../ledger/statement/state-at.ts';
import { ACCOUNT, granted, keyIssued, opened } from '../../fixtures/ledger/example-account.ts';
import { logOf } from '../../fixtures/ledger/sealed-rows.ts';
import { storedLife } from './stored-life.ts';

const LIFE = storedLife([opened, granted('a', 1_000), keyIssued(), granted('b', 500)]);
const at = (events: readonly RecordedEvent[], place: number) =>
  stateAt(logOf(events), ACCOUNT, { type: 'revision', revision: revision(place) });
const balanceAt = async (events: readonly RecordedEvent[], place: number) =>
  (await at(events, place)).found?.state.balance;

it('an account at a revision is what its events up to there make', async () => {
  expect([await balanceAt(LIFE, 0), await balanceAt(LIFE, 2), await balanceAt(LIFE, 3)]).toEqual([0n, 1_000n, 1_500n]);
});

it.each([
  ['an event is missing', LIFE.toSpliced(2, 1), 'account-acme: revision 2 should follow, and 3 does'],
  ['one stands twice', LIFE.toSpliced(2, 0, LIFE[1] as RecordedEvent), 'account-acme: revision 2 should follow, and 1'],
])('where %s nothing is said of what it was behind that, and all of what it was before', async (_, events, words) => {
  const behind = at(events, 3);
  await expect(behind).rejects.toThrow(AccountUnreadableError);
  await expect(behind).rejects.toThrow(words);
  expect(await balanceAt(events.slice(0, 2), 1)).toBe(1_000n);
  expect(await balanceAt(events, 0)).toBe(0n);
});

it('where the first events are missing nothing is said of it at all', async () => {
  await expect(at(LIFE.slice(1), 3)).rejects.toThrow('account-acme: revision 0 should follow, and 1 does');
});

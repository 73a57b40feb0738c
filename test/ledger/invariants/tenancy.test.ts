import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type AccountId, accountId, accountOfStream, type Revision, revision } from '../../../contracts/ids.ts';
import { INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import { authorize, decideAs } from '../../../ledger/account/authorize.ts';
import { loadAccount, readAccountEvents } from '../../../ledger/account/load-account.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { newLedger } from '../../fixtures/ledger/new-ledger.ts';
import type { RealAccount } from '../model/real-account.ts';
import { appendsOf, ledgers, livedTogether } from './several-accounts.ts';

/** The rows that views keep, by the account that they name. */
const rowsOf = (views: AccountViews): Map<string, string[]> => {
  const rows = views.all.flatMap((view) => [...Iterator.from(view.takeChanges())]);
  return Map.groupBy(
    rows.map((row) => row.values.join(' | ')),
    (row) => row.split(' | ')[0] ?? '',
  );
};

it('invariant 22: tenancy: on one log each account has its own events and rows alone, and nobody reads another’s', async () => {
  await fc.assert(
    fc.asyncProperty(ledgers(3), async (all) => {
      const accounts = livedTogether(all);
      const log = await newLedger();
      const at = new Map<string, Revision>();
      for (const events of appendsOf(accounts)) {
        const stream = events[0]?.stream;
        if (stream === undefined) continue;
        const result = await log.append(stream, at.get(stream) ?? revision(-1), events);
        if (result.type !== 'appended') throw new Error('somebody else has appended');
        at.set(stream, result.lastRevision);
      }
      const together = new AccountViews();
      for await (const recorded of log.readAll()) {
        const id = accountOfStream(recorded.stream);
        if (id !== null) together.take(id, recorded);
      }
      const rows = rowsOf(together);
      expect([...rows.keys()].toSorted()).toEqual([...accounts.keys()].toSorted());
      for (const [id, account] of accounts) {
        const { state } = await loadAccount(log, id);
        expect(state).toEqual(account.open);
        const alone = new AccountViews();
        for await (const { event, recorded } of readAccountEvents(log, id)) {
          expect(recorded.stream).toBe(`account-${id}`);
          alone.fold(id, recorded.revision, event);
        }
        expect(rows.get(id)).toEqual(rowsOf(alone).get(id));
        expectStrangersToLearnNothing(account, id);
      }
      expect((await loadAccount(log, accountId('acct_another'))).state).toEqual(INITIAL_ACCOUNT);
    }),
    { numRuns: 2, endOnFailure: true },
  );
});

/** By answer or by its text. */
function expectStrangersToLearnNothing({ tried, open }: RealAccount, id: AccountId): void {
  const stranger = { type: 'member', email: `stranger@${id}.example.com` } as const;
  for (const { command } of tried) {
    if (command.type === 'OpenAccount') continue;
    const refused = decideAs(stranger, command, INITIAL_ACCOUNT);
    expect(refused).toMatchObject({ type: 'refused', code: 'account_not_found' });
    expect(decideAs(stranger, command, open)).toEqual(refused);
    expect(authorize(stranger, { type: 'ShowAccount' }, open)).toEqual(refused);
  }
}

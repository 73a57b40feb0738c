import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { accountId, keyId, leaseId, revision } from '../../contracts/ids.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { ACCOUNT, CARD, granted, keyIssued, openAccount, opened, usageOf } from '../fixtures/ledger/example-account.ts';
import { recordedLife } from '../fixtures/ledger/recorded-life.ts';
import { exampleLives, foldAll, foldFrom } from './example-ledger.ts';
import { storedRows } from './stored-rows.ts';

const LIFE = [opened, granted('g', 7), keyIssued()];

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

describe('the views of all accounts', () => {
  test('fold each event once, however often and from wherever it comes', () => {
    const [once, often] = [new AccountViews(), new AccountViews()];
    const all = exampleLives(3);
    foldAll(once, all);
    for (const [id, events] of all)
      for (let upTo = 1; upTo <= events.length; upTo += 4) foldFrom(often, id, events.slice(0, upTo), 0);
    foldAll(often, all);
    for (const [id, events] of all) {
      expect(often.read(id)).toEqual(once.read(id));
      expect(often.read(id).revision).toBe(events.length - 1);
      for (const month of ['2026-12', '2027-01', '2027-02']) {
        expect(often.monthly.linesOf(id, month)).toEqual(once.monthly.linesOf(id, month));
        expect(often.spendLimits.ofAccount(id, month)).toEqual(once.spendLimits.ofAccount(id, month));
      }
    }
  });

  test('tell each event once', () => {
    const views = new AccountViews();
    const told: string[] = [];
    views.onFolded((id, event) => told.push(`${id} ${event.type}`));
    foldFrom(views, ACCOUNT, LIFE, 0);
    foldFrom(views, ACCOUNT, LIFE, 0);
    expect(told).toEqual(['acme AccountOpened', 'acme CreditsGranted', 'acme ApiKeyIssued']);
  });

  test('tell an event when it is in the views', () => {
    const views = new AccountViews();
    const seen: number[] = [];
    views.onFolded((id) => seen.push(views.read(id).revision));
    foldFrom(views, ACCOUNT, LIFE, 0);
    expect(seen).toEqual([0, 1, 2]);
  });

  test('do not fold over a gap: what is left out would never be billed', () => {
    const views = new AccountViews();
    expect(() => views.fold(ACCOUNT, revision(1), opened)).toThrow(
      /^revision 1 of account-acme came, and revision 0 did not$/,
    );
    foldFrom(views, ACCOUNT, LIFE.slice(0, 1), 0);
    expect(() => views.fold(ACCOUNT, revision(2), keyIssued())).toThrow(
      /^revision 2 of account-acme came, and revision 1 did not$/,
    );
    expect(views.read(ACCOUNT).revision).toBe(0);
  });

  test('put no account aside for a row that cannot be read, whichever view’s it is', () => {
    for (const failing of ['balance', 'monthly'] as const) {
      const views = new AccountViews();
      foldFrom(views, ACCOUNT, LIFE, 0);
      const restored = new AccountViews();
      restored.balance.restore(storedRows(views.balance.takeChanges()));
      restored.monthly.restore(storedRows(views.monthly.takeChanges()));
      const failed = new Error('disk I/O error');
      restored[failing].restore({
        all: () => [],
        of: () => {
          throw failed;
        },
      });
      expect(() => restored.fold(ACCOUNT, revision(3), granted('h', 1))).toThrow(failed);
    }
  });

  test('know what they have folded', () => {
    const views = new AccountViews();
    expect(views.hasFolded(ACCOUNT, revision(0))).toBe(false);
    foldFrom(views, ACCOUNT, LIFE.slice(0, 2), 0);
    expect([0, 1, 2].map((at) => views.hasFolded(ACCOUNT, revision(at)))).toEqual([true, true, false]);
  });

  test('fold into each view what it lacks, where one of them is ahead', () => {
    const views = new AccountViews();
    views.balance.apply(ACCOUNT, revision(0), opened);
    expect(views.hasFolded(ACCOUNT, revision(0))).toBe(false);
    expect(views.foldedUpTo(ACCOUNT)).toBe(-1);
    foldFrom(views, ACCOUNT, LIFE, 0);
    expect(views.all.map((view) => view.revisionOf(ACCOUNT))).toEqual([2, 2]);
  });

  test('keep accounts apart', () => {
    const all = exampleLives(3);
    const together = new AccountViews();
    foldAll(together, all);
    for (const [id, events] of all) {
      const alone = new AccountViews();
      foldFrom(alone, id, events, 0);
      expect(together.read(id)).toEqual(alone.read(id));
      expect(together.monthly.linesOf(id, '2027-01')).toEqual(alone.monthly.linesOf(id, '2027-01'));
    }
  });

  test('keep of a request what they tell, and not the text in which it was read', () => {
    const [accounts, longText] = [200, 50_000];
    const upstream = { provider: 'p', model: 'm'.repeat(longText), requestId: null };
    const views = new AccountViews();
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < accounts; index++) {
      const id = accountId(`acct_${index}`);
      const key = keyId(`key_of_the_account_${index}`);
      const issued = keyIssued({ keyId: key, sha256: String(index).padStart(64, '0') });
      const life = [opened, granted('g', 7), issued];
      const [usage, debit] = recordUsage(openAccount(life), usageOf(1, 3, { upstream, keyId: key }), CARD);
      if (usage?.type !== 'UsageRecorded' || debit?.type !== 'CreditsDebited') throw new Error('it is not debited');
      const leased = { ...debit, data: { ...debit.data, leaseId: leaseId('l'.repeat(longText)) } };
      const events = [...life, usage, leased].map((event) => ({
        event,
        atMs: Date.parse('2026-11-21T10:00:00.000Z'),
      }));
      for (const recorded of recordedLife(events, id)) views.take(id, recorded);
      expect(views.foldedUpTo(id)).toBe(events.length - 1);
    }
    collect();
    // Of each the last request's: its texts are as long as all else of an account is many times over.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan((accounts * longText) / 4);
  });
});

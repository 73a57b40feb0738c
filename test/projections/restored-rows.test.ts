import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountId, revision } from '../../contracts/ids.ts';
import type { OpenAccount } from '../../ledger/account/account-state.ts';
import { UNOPENED } from '../../ledger/account/load-account.ts';
import { BalanceView } from '../../projections/balance-view.ts';
import { DamagedViewsError } from '../../projections/damaged-views.ts';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import { Projections } from '../../projections/projections.ts';
import type { ViewSource, ViewSourceOptions } from '../../projections/sources/view-source.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { BALANCE_TABLE } from '../fixtures/ledger/balance-table.ts';
import { ACCOUNT, granted, KEY, keyIssued, ms, opened } from '../fixtures/ledger/example-account.ts';
import { lifeWithExceptions } from '../fixtures/ledger/many-exceptions.ts';
import { inTurnsThroughout, passing, until } from '../fixtures/ledger/turns.ts';
import { dump, execute, secretOf, viewsFile, writeTo } from './example-ledger.ts';
import { A, caughtUp, expectWhole, LIVES, logOf, start, written } from './started-projections.ts';
import { storedRows } from './stored-rows.ts';

inTurnsThroughout();

const B = accountId('a1');
const team: AccountEvent = { type: 'PlanChanged', data: { plan: 'team', terms: null } };
const loadedIn = (view: BalanceView) => [...view.loaded()].map(([id]) => id);

describe('accounts that were restored', () => {
  test('stand in the file until somebody asks for them, and are then what they were', async () => {
    const log = logOf();
    const { projections } = await start(log, await written(log));
    expect(loadedIn(projections.accounts.balance)).toEqual([]);
    projections.accounts.read(A);
    expect(loadedIn(projections.accounts.balance)).toEqual([A]);
    expectWhole(projections);
  });

  test('are gone on with by events that come, and written with them', async () => {
    const log = logOf();
    const path = await written(log);
    writeTo(log, A, [team]);
    const { projections, close } = await caughtUp(log, path);
    expect(loadedIn(projections.accounts.balance)).toEqual([A]);
    await close();
    expect(dump(path)).toEqual(dump(await written(log)));
  });

  test('are all there for who lists them, also those that came since, and are not kept for it', async () => {
    const log = logOf();
    const path = await written(log);
    const added = accountId('added');
    writeTo(log, added, [{ ...opened, data: { ...opened.data, accountId: added } } as AccountEvent]);
    writeTo(log, B, [team]);
    const { accounts } = (await caughtUp(log, path, false)).projections;
    const listed = [...accounts.balance.all()];
    expect(listed.map(([id]) => id)).toEqual([...LIVES.keys(), added]);
    expect(accounts.balance.ids()).toEqual([...LIVES.keys(), added]);
    expect(loadedIn(accounts.balance)).toEqual([added, B]);
    // What is kept by itself is not among it.
    for (const [id, { exceptions: _, keys: _keys, spend: _spend, ...state }] of listed as [AccountId, OpenAccount][])
      expect(accounts.read(id).state).toMatchObject(state);
    expect(listed[1]?.[1].plan).toBe('team');
  });

  test('are nobody’s any more when the log is another one than theirs', async () => {
    const log = logOf();
    const path = await written(log);
    const reading = Promise.withResolvers<ViewSourceOptions>();
    const source: ViewSource = {
      ...{ name: 'log', isLedger: true, throughOf: () => null },
      open: (options) => {
        reading.resolve(options);
        return { close: async () => undefined };
      },
    };
    const { accounts } = endedLater(await passing(Projections.start({ log, source, path, persist: true })));
    accounts.read(A);
    const startingOver = (await reading.promise).onForeign();
    for (const id of [A, B]) expect(accounts.read(id)).toBe(UNOPENED);
    expect(accounts.keys.find(secretOf(A, KEY))).toBeNull();
    // By whoever appends meanwhile.
    accounts.fold(A, revision(0), opened);
    await passing(startingOver);
    for (const id of [A, B]) expect(accounts.read(id)).toBe(UNOPENED);
    expect(dump(path)).toEqual([]);
  });
});

describe('a restored row that cannot be read when it is asked for', () => {
  const ruin = (path: string) => execute(path, `UPDATE ${BALANCE_TABLE} SET state = '{' WHERE account_id = '${A}'`);

  test('stops a gateway’s views, whose file is set aside: the next start makes it anew', async () => {
    const log = logOf();
    const path = await written(log);
    const { projections, stopped, close } = await caughtUp(log, path);
    ruin(path);
    expect(() => projections.accounts.read(A)).toThrow(DamagedViewsError);
    expect(stopped).toEqual([expect.objectContaining({ message: expect.stringContaining(`as ${path}.damaged`) })]);
    await close();
    expect(existsSync(`${path}.damaged`)).toBe(true);
    expectWhole((await caughtUp(log, path)).projections);
  });

  test('is any row: an exception that is none, a revision that no stream has', async () => {
    for (const ruined of [
      `UPDATE ${BALANCE_TABLE}_exception SET state = 'lost' WHERE account_id = '${A}'`,
      `UPDATE ${BALANCE_TABLE}_exception SET state = 'open', exception = '{' WHERE account_id = '${A}'`,
      `UPDATE ${BALANCE_TABLE} SET revision = -5 WHERE account_id = '${A}'`,
    ]) {
      const log = logOf();
      const path = await written(log);
      const { projections, close } = await caughtUp(log, path);
      execute(path, ruined);
      expect(() => projections.accounts.read(A)).toThrow(DamagedViewsError);
      await close();
      expect(existsSync(`${path}.damaged`)).toBe(true);
    }
  });

  test('is no account’s own fault: none is set aside for it', async () => {
    const log = logOf();
    const path = await written(log);
    const { accounts } = (await caughtUp(log, path)).projections;
    ruin(path);
    expect(() => accounts.fold(A, revision(99), team)).toThrow(DamagedViewsError);
    expect(accounts.setAside.count).toBe(0);
  });

  test('is told to a reader beside the gateway, who leaves the file alone', async () => {
    const log = logOf();
    const path = await written(log);
    ruin(path);
    const { projections, stopped } = await caughtUp(log, path, false);
    expect(() => projections.accounts.read(A)).toThrow(/cannot be read as views \(.*JSON.*\)$/);
    expect(stopped).toEqual([]);
    expect(existsSync(path)).toBe(true);
    // Nobody else's row is read for one account.
    expect(projections.accounts.read(B).revision).toBeGreaterThan(0);
  });
});

test('a checkpoint that its source cannot read has the file set aside: the next start makes it anew', async () => {
  for (const ruined of [
    `'{'`,
    `'{}'`,
    `json_set(checkpoint, '$.revision', -5)`,
    `json_set(checkpoint, '$.position', 1e300)`,
  ]) {
    const log = logOf();
    const path = await written(log);
    execute(path, `UPDATE checkpoint SET checkpoint = ${ruined}`);
    const damaged: unknown[] = [];
    const onDamaged = (_why: string, aside: string | null): unknown => damaged.push(aside);
    const reader = endedLater(await passing(Projections.start({ log, path, persist: false, onDamaged })));
    const projections = endedLater(await passing(Projections.start({ log, path, persist: true, onDamaged })));
    expect(damaged).toEqual([null, `${path}.damaged`]);
    for (const whole of [reader, projections]) {
      await passing(whole.whenCaughtUp());
      expectWhole(whole);
    }
  }
});

test('an account’s balance is never newer than its months in a file, whatever is folded while that is written: what is decided by it is folded by both', async () => {
  const log = logOf();
  const path = viewsFile();
  const { projections } = await caughtUp(log, path);
  const { accounts } = projections;
  let at = accounts.foldedUpTo(A);
  accounts.fold(A, revision(++at), team);
  // More rows than are taken in one turn.
  for (let other = 0; other < VIEW_LIMITS.rowsPerTurn; other++)
    accounts.fold(accountId(`b${other}`), revision(0), opened);
  let isWritten = false;
  void projections.whenWritten().then(() => {
    isWritten = true;
  });
  const file = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => file.close());
  const revisions = file.prepare(`SELECT (SELECT revision FROM ${BALANCE_TABLE} WHERE account_id = '${A}') AS balance,
    (SELECT revision FROM monthly_v3_revision WHERE account_id = '${A}') AS months`);
  const ahead = new Set<number>();
  await until(() => {
    accounts.fold(A, revision(++at), team);
    const { balance, months } = revisions.get() ?? {};
    ahead.add(Math.sign(Number(months) - Number(balance)));
    return isWritten;
  });
  expect(ahead).not.toContain(-1);
});

test('a reader beside a gateway sees rows of the moment of its start, whatever is written since', async () => {
  const log = logOf(0, 9);
  const path = await written(log);
  const { projections } = await caughtUp(log, path, false);
  execute(path, `UPDATE ${BALANCE_TABLE} SET revision = 77`);
  expect(projections.accounts.read(A).revision).toBe(8);
});

describe('what is known of accounts that nobody has read', () => {
  const END = ms('2027-03-05T10:30:00.000Z');
  const ends = (atMs: number | null) =>
    granted('g', 5, { expiresAt: atMs === null ? null : new Date(atMs).toISOString() });
  function restored(lives: ReadonlyMap<string, readonly AccountEvent[]>): BalanceView {
    const view = new BalanceView();
    for (const [id, events] of lives)
      for (const [at, event] of events.entries()) view.apply(accountId(id), revision(at), event);
    const again = new BalanceView();
    again.restore(storedRows(view.takeChanges()));
    Array.from(
      again.survey(
        () => undefined,
        () => undefined,
      ),
    );
    return again;
  }

  test('is when their credits end: each is brought in its time, no more at once than is asked for', () => {
    const born = (atMs: number | null) => [opened, ends(atMs)];
    const view = restored(
      new Map([
        ['never', born(null)],
        ['soon', born(END)],
        ['also-soon', born(END)],
        ['later', born(END + 3_600_000)],
      ]),
    );
    view.loadExpiring(END - 3_600_000, 9);
    expect(loadedIn(view)).toEqual([]);
    view.loadExpiring(END, 1);
    expect(loadedIn(view)).toHaveLength(1);
    view.loadExpiring(END, 1);
    expect(loadedIn(view).sort()).toEqual(['also-soon', 'soon']);
    view.loadExpiring(END + 3_600_000, 9);
    expect(loadedIn(view).sort()).toEqual(['also-soon', 'later', 'soon']);
  });

  test('is that they have leases: those are in memory from the start on', () => {
    const leased: AccountEvent = {
      type: 'CreditsLeased',
      data: {
        ...{ leaseId: 'lease_a', proxy: 'proxy_a', epoch: 1, keyId: null, amount: 3n, beforeLimit: {} },
        expiresAt: '2026-11-06T10:00:00.000Z',
      } as never,
    };
    const view = restored(
      new Map([
        ['with', [opened, granted('g', 5), leased]],
        ['without', [opened, granted('g', 5)]],
      ]),
    );
    expect(loadedIn(view)).toEqual(['with']);
  });

  test('is who has exceptions: where they are many, they are in memory from the start on', () => {
    const view = restored(
      new Map([
        [ACCOUNT, lifeWithExceptions(51)],
        ['few', lifeWithExceptions(50)],
        ['without', [opened, keyIssued()]],
      ]),
    );
    expect(loadedIn(view)).toEqual([ACCOUNT]);
    expect(view.idsWithExceptions()).toEqual([ACCOUNT, accountId('few')]);
    expect(view.openExceptions.count).toBe(101);
  });
});

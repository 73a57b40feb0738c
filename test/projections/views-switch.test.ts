import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HiddenStreamError } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountId, accountStream, position, revision } from '../../contracts/ids.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { AccountsSetAside } from '../../projections/accounts-set-aside.ts';
import { CatalogView } from '../../projections/catalog-view.ts';
import type { Projections } from '../../projections/projections.ts';
import { switchFiles } from '../../projections/switched-file.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { goOver } from '../../projections/views-switch.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { inTurnsThroughout, passing, turns } from '../fixtures/ledger/turns.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { dump, foldFrom, writeLives, writeTo } from './example-ledger.ts';
import { A, ALL, caughtUp, expectWhole, head, LIVES, logOf, written } from './started-projections.ts';

inTurnsThroughout();

const B = accountId('a1');
const team: AccountEvent = { type: 'PlanChanged', data: { plan: 'team', terms: null } };
const planOf = ({ accounts }: Projections, id = A) => {
  const { state } = accounts.read(id);
  return state.type === 'open' ? state.plan : null;
};

/** Made by the first test that asks. */
let made: ReturnType<typeof make> | null = null;

async function make() {
  const log = logOf(0, 9);
  const files = viewFilesOf(temporaryFolder());
  mkdirSync(files.rebuildFolder);
  await written(log, files.rebuild);
  writeLives(log, LIVES, 9, ALL);
  await written(log, files.live);
  return { log, files };
}

/** Views that serve from a file of a folder, and beside it views of the same log from before its last events. */
async function served() {
  made ??= make();
  const { log: before, files: from } = await made;
  const log = new MemoryEventLog();
  for (const event of before.events) log.write(event.stream, [event]);
  const files = viewFilesOf(temporaryFolder());
  mkdirSync(files.rebuildFolder);
  cpSync(from.rebuild, files.rebuild);
  cpSync(from.live, files.live);
  return { log, files, ...(await caughtUp(log, files.live)) };
}

/** Views without a file, and the event of the log that they have come to. */
function side(last: number) {
  let [at, listener]: [number, (() => void) | null] = [last, null];
  return {
    ...{ accounts: new AccountViews(), catalog: new CatalogView(), disk: null },
    at: () => position(at),
    stopped: () => null,
    stop: () => undefined,
    onEvent: (told: (() => void) | null) => {
      listener = told;
    },
    reach: async () => undefined,
    comeTo: (next: number) => {
      at = next;
      listener?.();
    },
  };
}

const never = new AbortController().signal;

describe('views that serve go over to others', () => {
  test('which then have all that the log has, and stand in their file', async () => {
    const { log, files, projections, close } = await served();
    cpSync(files.live, files.rebuild);
    expectWhole(projections);
    await passing(projections.switchTo(files.rebuild, () => switchFiles(files, files.rebuild), never));
    expect([...projections.accounts.balance.loaded()]).toEqual([]);
    expectWhole(projections);
    writeTo(log, A, [team]);
    await passing(projections.whenAt(head(log)));
    await passing(projections.whenWritten());
    await close();
    expect(dump(files.live)).toEqual(dump(await written(log)));
    expect(dump(files.previous)).not.toEqual([]);
  });

  test('in the turn in which those have come to the same event, with all that was appended here and has not come by the log', async () => {
    const [serving, beside] = [side(5), side(3)];
    const [ofA = [], ofB = []] = [LIVES.get(A), LIVES.get(B)];
    foldFrom(serving.accounts, A, ofA.slice(0, 1), 0);
    let hasMet = false;
    const going = goOver(serving, beside, { path: '', move: () => undefined, signal: never }).then(() => {
      hasMet = true;
    });
    await turns(3);
    // The others do not know of what stands before these, and so cannot have them.
    foldFrom(serving.accounts, A, ofA, 1);
    foldFrom(serving.accounts, B, ofB, 0);
    beside.comeTo(5);
    await turns(3);
    expect(hasMet).toBe(false);
    foldFrom(beside.accounts, A, ofA, 0);
    beside.comeTo(4);
    await turns(3);
    expect(hasMet).toBe(false);
    beside.comeTo(5);
    await going;
    expect(serving.accounts.read(A).revision).toBe(ofA.length - 1);
    expect(serving.accounts.read(B).revision).toBe(ofB.length - 1);
  });

  test('with what is appended here while they are brought', async () => {
    const { log, files, projections } = await served();
    const going = projections.switchTo(files.rebuild, () => switchFiles(files, files.rebuild), never);
    for (let at = 0; at < 20; at++) {
      await turns(3);
      const event: AccountEvent = { type: 'PlanChanged', data: { plan: at % 2 === 0 ? 'team' : 'solo', terms: null } };
      writeTo(log, B, [event]);
      // As settlement does with what it has appended itself.
      projections.accounts.fold(B, revision(projections.accounts.foldedUpTo(B) + 1), event);
    }
    await passing(going);
    expect(planOf(projections, B)).toBe('solo');
    const told: string[] = [];
    projections.accounts.onFolded((id) => told.push(id));
    writeTo(log, A, [team]);
    await passing(projections.whenAt(head(log)));
    expect(told).toEqual([A]);
  });

  test.each([
    ['parked', (projections: Projections) => projections.park(A, 'a look')],
    [
      'set aside',
      ({ accounts }: Projections) =>
        accounts.putAside(A, new AccountUnreadableError(A, revision(accounts.foldedUpTo(A) + 1), 'of a newer form')),
    ],
  ])(
    'and who listens is told of what those have folded of an account that is %s here, once, before it is served again',
    async (what, setAside) => {
      const { log, files, projections } = await served();
      const told: string[] = [];
      projections.accounts.onFolded((id, { type }) => told.push(`${id} ${type}`));
      projections.accounts.onReturned((id) => told.push(`${id} is back`));
      setAside(projections);
      writeTo(log, A, [team, { type: 'PlanChanged', data: { plan: 'solo', terms: null } }]);
      await passing(projections.whenAt(head(log)));
      expect(told).toEqual([]);
      await passing(projections.switchTo(files.rebuild, () => switchFiles(files, files.rebuild), never));
      if (what === 'parked') {
        projections.accounts.fold(A, revision(0), team);
        expect(told).toEqual([]);
      }
      await passing(projections.unpark(A));
      expect(told).toEqual([`${A} PlanChanged`, `${A} PlanChanged`, `${A} is back`]);
      expect(planOf(projections)).toBe('solo');
      writeTo(log, A, [team]);
      await passing(projections.whenAt(head(log)));
      expect(told).toHaveLength(4);
      projections.park(A, 'once more');
      await passing(projections.unpark(A));
      expect(told.slice(4)).toEqual([`${A} is back`]);
    },
  );

  test('and an account that is parked stays so, also where nothing has come behind it, until it is unparked', async () => {
    const { files, projections } = await served();
    projections.park(A, 'a look');
    await passing(projections.switchTo(files.rebuild, () => switchFiles(files, files.rebuild), never));
    expect(projections.accounts.setAside.whyOf(A)).toBe('parked by an operator: a look');
    await passing(projections.unpark(A));
    expect(projections.accounts.setAside.whyOf(A)).toBeNull();
    expectWhole(projections);
  });

  test('or stay as they are where that is broken off, and go on being written', async () => {
    const { log, files, projections, close } = await served();
    const ending = new AbortController();
    const going = projections.switchTo(files.rebuild, () => switchFiles(files, files.rebuild), ending.signal);
    projections.accounts.fold(A, revision(projections.accounts.foldedUpTo(A) + 1), team);
    await turns(100);
    ending.abort(new Error('nobody waits'));
    await expect(passing(going)).rejects.toThrow('nobody waits');
    writeTo(log, A, [team]);
    writeTo(log, B, [team]);
    await passing(projections.whenAt(head(log)));
    await passing(projections.whenWritten());
    await close();
    expect(dump(files.live)).toEqual(dump(await written(log)));
  });

  test('or stay as they are where the file cannot be moved, also those that nobody has asked for', async () => {
    const { log, files, projections, close } = await served();
    const move = () => switchFiles(files, files.rebuild);
    mkdirSync(join(files.previous, 'in the way'), { recursive: true });
    await expect(passing(projections.switchTo(files.rebuild, move, never))).rejects.toThrow(/EISDIR|ENOTEMPTY/);
    expectWhole(projections);
    writeTo(log, B, [team]);
    await passing(projections.whenAt(head(log)));
    await passing(projections.whenWritten());
    rmSync(files.previous, { recursive: true });
    await passing(projections.switchTo(files.rebuild, move, never));
    expect(planOf(projections, B)).toBe('team');
    await close();
    expect(dump(files.live)).toEqual(dump(await written(log)));
  });

  test('or end in order while they are at it', async () => {
    const { files, projections, close } = await served();
    const going = projections.switchTo(files.rebuild, () => switchFiles(files, files.rebuild), never);
    going.catch(() => undefined);
    projections.accounts.fold(A, revision(projections.accounts.foldedUpTo(A) + 1), team);
    await turns(50);
    await close();
    await expect(going).rejects.toThrow();
  });

  test('but not twice at once, and not to views of another program', async () => {
    const { files, projections } = await served();
    const move = () => switchFiles(files, files.rebuild);
    const going = projections.switchTo(files.rebuild, move, never);
    await expect(projections.switchTo(files.rebuild, move, never)).rejects.toThrow('already');
    await passing(going);
    await expect(passing(projections.switchTo(files.rebuild, move, never))).rejects.toThrow('holds no views');
  });
});

test('accounts that are set aside are those of the other views, whoever is served again is told, and hidden streams and parked accounts stay', () => {
  const [one, other] = [new AccountsSetAside(), new AccountsSetAside()];
  const [back, still, found, hidden, parked] = ['back', 'still', 'found', 'hidden', 'parked'].map(accountId);
  if (!back || !still || !found || !hidden || !parked) throw new Error('five');
  for (const id of [back, still]) one.put(id, new AccountUnreadableError(id, revision(3), 'poison'));
  one.put(hidden, new HiddenStreamError(accountStream(hidden), 'hidden'));
  one.park(parked, revision(2), 'a look');
  for (const id of [still, found, parked]) other.put(id, new AccountUnreadableError(id, revision(3), 'poison'));
  const told: unknown[] = [];
  one.onChanged((id, why) => told.push([id, why]));
  told.length = 0;
  one.adopt(other);
  expect(told).toEqual([
    [back, null],
    [found, 'poison'],
  ]);
  const whys = [null, 'poison', 'poison', 'hidden', 'parked by an operator: a look'];
  expect([back, still, found, hidden, parked].map((id) => one.whyOf(id))).toEqual(whys);
  expect([...one.takeChanges()].map(({ values }) => values.slice(0, 2))).toEqual([
    [still, 'unreadable'],
    [found, 'unreadable'],
    [parked, 'unreadable'],
    [hidden, 'hidden'],
  ]);
});

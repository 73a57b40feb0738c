import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { BASE_FORMS, formsBeyond, OWN_FORMS } from '../../../contracts/event-forms.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { LedgerEvent } from '../../../contracts/events.ts';
import {
  accountId,
  keyId,
  LEDGER_STREAM,
  ledgerId,
  NO_STREAM,
  type Position,
  revision,
} from '../../../contracts/ids.ts';
import { entryOf } from '../../../ledger/account/keyed-tree.ts';
import { loadAccount } from '../../../ledger/account/load-account.ts';
import { acceptLoss } from '../../../ledger/identity/accept-loss.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { enterGeneration } from '../../../projections/after-loss/enter-generation.ts';
import { readKeptLockouts, writeKeptLockouts } from '../../../projections/after-loss/kept-lockouts.ts';
import { VIEWS_FILE, writeLedgerOfViews } from '../../../projections/known-views.ts';
import { Projections } from '../../../projections/projections.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const LEDGER = ledgerId('ledger_019a5b3c00007000800000000000000a');
const ADA = 'acct_ada';
const REASON = ['--reason', 'fraud'];

/** A ledger of its own, as somebody has put it back, or an empty one. */
async function ledger(): Promise<ProgramInProcess> {
  return endedLater(await programInProcess());
}

/** The folder's own ledger at its birth. */
async function newborn(): Promise<ProgramInProcess> {
  const program = await ledger();
  const recording = recordingBy('test', Date.now());
  const forms = formsBeyond(OWN_FORMS, BASE_FORMS);
  const events: LedgerEvent[] = [
    { type: 'LedgerIdentified', data: { ledgerId: LEDGER, generation: 1, identifiedAt: recording.recordedAt } },
    { type: 'FormsAdopted', data: { forms, without: [], reason: 'a new ledger', actor: recording.actor } },
  ];
  await program.log.append(LEDGER_STREAM, NO_STREAM, encodeEvents(events, recording));
  return program;
}

/** One with the account and its key, both in use: what a backup of before has. */
async function backup(): Promise<{ readonly program: ProgramInProcess; readonly key: string }> {
  const program = await newborn();
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', ADA);
  const { keyId: issued } = await program.json('key', 'issue', ADA);
  return { program, key: String(issued) };
}

/** What a gateway's life on a generation leaves in its folder. */
async function serve(log: EventLog, folder: string, generation: number): Promise<void> {
  const path = join(folder, VIEWS_FILE);
  const projections = await Projections.start({ log, path, persist: true });
  await projections.whenCaughtUp();
  await projections.close();
  writeLedgerOfViews(path, { ledgerId: LEDGER, generation });
}

const takeOver = (log: EventLog, dataFolder: string, generation: number) =>
  enterGeneration({
    ...{ log, dataFolder, identity: { ledgerId: LEDGER, generation } },
    ...{ journal: { settle: () => undefined }, recovered: [], unsettleable: [] },
    ...{ nowMs: Date.now(), actor: 'operator' },
  });

/** The same backup as often as it is put back: the same events, and none of what came after. */
async function copyOf(source: ProgramInProcess, upTo: Position | null): Promise<ProgramInProcess> {
  const copy = await ledger();
  for await (const event of source.log.readAll()) {
    if (event.position > Number(upTo)) break;
    await copy.log.append(event.stream, event.revision === 0 ? NO_STREAM : revision(event.revision - 1), [event]);
  }
  return copy;
}

/** A folder that knows a revoked key and a suspension, and the backup from before them, as often as it is wanted. */
async function folderWithRefusals() {
  const folder = temporaryFolder();
  const { program, key } = await backup();
  const shared = await program.log.headPosition();
  await program.run('key', 'revoke', ADA, key);
  await program.run('account', 'suspend', ADA, ...REASON);
  await serve(program.log, folder, 1);
  return { folder, key, putBack: () => copyOf(program, shared) };
}

async function refusedIn({ log }: ProgramInProcess, key: string) {
  const { state } = await loadAccount(log, accountId(ADA));
  if (state.type === 'unopened') return null;
  return { isRevoked: entryOf(state.keys, keyId(key))?.revokedAtMs != null, suspended: state.suspended };
}

it('what a generation lacks of those who are refused is done in a later one that has them again', async () => {
  const { folder, key, putBack } = await folderWithRefusals();
  const empty = await ledger();
  expect(await takeOver(empty.log, folder, 2)).toMatchObject({ revokedKeys: [], suspended: [] });
  await serve(empty.log, folder, 2);
  await takeOver((await ledger()).log, folder, 3);
  const found = await putBack();
  expect(await takeOver(found.log, folder, 4)).toMatchObject({
    revokedKeys: [{ accountId: ADA, keyId: key }],
    suspended: [ADA],
  });
  expect(await refusedIn(found, key)).toEqual({ isRevoked: true, suspended: 'fraud' });
  // Done once; but a generation that was never served from has left no views that know it.
  const again = await putBack();
  await takeOver(again.log, folder, 5);
  expect(await refusedIn(again, key)).toEqual({ isRevoked: true, suspended: 'fraud' });
});

it('a key is revoked in a later generation that has it, where one in between has its account without it', async () => {
  const { folder, key, putBack } = await folderWithRefusals();
  const older = await newborn();
  await older.run('account', 'open', '--email', 'ada@example.com', '--id', ADA);
  expect(await takeOver(older.log, folder, 2)).toMatchObject({ revokedKeys: [], suspended: [ADA] });
  await serve(older.log, folder, 2);
  const found = await putBack();
  expect(await takeOver(found.log, folder, 3)).toMatchObject({ revokedKeys: [{ keyId: key }], suspended: [ADA] });
});

it('an account that was opened anew under its name meanwhile says nothing of the suspension of before', async () => {
  const { folder, key, putBack } = await folderWithRefusals();
  const anew = await newborn();
  await takeOver(anew.log, folder, 2);
  await anew.run('account', 'open', '--email', 'ada@example.com', '--id', ADA);
  await serve(anew.log, folder, 2);
  const found = await putBack();
  await takeOver(found.log, folder, 3);
  expect(await refusedIn(found, key)).toEqual({ isRevoked: true, suspended: 'fraud' });
});

it('who was reinstated since is not suspended again; what was revoked is, for good', async () => {
  const { folder, key, putBack } = await folderWithRefusals();
  const found = await putBack();
  await takeOver(found.log, folder, 2);
  await found.run('account', 'reinstate', ADA, ...REASON);
  await serve(found.log, folder, 2);
  const again = await putBack();
  expect(await takeOver(again.log, folder, 3)).toMatchObject({ revokedKeys: [{ keyId: key }], suspended: [] });
  const third = await putBack();
  expect(await takeOver(third.log, folder, 4)).toMatchObject({ revokedKeys: [{ keyId: key }], suspended: [] });
});

it('views of before a suspension was done again do not lift it', async () => {
  const { folder, key, putBack } = await folderWithRefusals();
  const found = await putBack();
  await takeOver(found.log, folder, 2);
  // A gateway that was killed while it made its views anew: they end before the suspension.
  await serve((await putBack()).log, folder, 2);
  const again = await putBack();
  await takeOver(again.log, folder, 3);
  expect(await refusedIn(again, key)).toEqual({ isRevoked: true, suspended: 'fraud' });
});

it('a folder whose loss was accepted by an earlier program knows it from the views that were set aside', async () => {
  const { folder, key, putBack } = await folderWithRefusals();
  await takeOver((await ledger()).log, folder, 2);
  rmSync(join(folder, 'refused.json'));
  const found = await putBack();
  await takeOver(found.log, folder, 3);
  expect(await refusedIn(found, key)).toEqual({ isRevoked: true, suspended: 'fraud' });
});

/** Somebody accepts a loss of this ledger: what is written from here on is of the next generation. */
async function begin({ log }: ProgramInProcess, generation: number): Promise<void> {
  const state = await readLedgerState(log);
  const recording = recordingBy('test', Date.now());
  const parts = { lost: [], untold: 0, requests: [], reason: 'test', nowMs: Date.now() };
  const known = { ledgerId: LEDGER, generation: generation - 1 };
  expect(await acceptLoss(log, { ...parts, state, known, recording })).toEqual({ ledgerId: LEDGER, generation });
}

describe('a folder of the fleet that knows a suspension of before a loss, and starts late', () => {
  /** `events` more of the account come before the suspension. */
  async function folderOfSuspended(events: number) {
    const folder = temporaryFolder();
    const { program } = await backup();
    const shared = await program.log.headPosition();
    for (let count = 0; count < events; count++)
      await program.run('credits', 'grant', ADA, '--usd', '1', '--id', `grant_${count}`);
    await program.run('account', 'suspend', ADA, ...REASON);
    await serve(program.log, folder, 1);
    return { folder, program, shared };
  }
  const isSuspended = async ({ log }: ProgramInProcess) => {
    const { state } = await loadAccount(log, accountId(ADA));
    return state.type === 'open' && state.suspended !== null;
  };

  it.each([0, 9])(
    'does not undo that the account was reinstated in the new generation, %i events shorter',
    async (events) => {
      const { folder, program, shared } = await folderOfSuspended(events);
      const left = await copyOf(program, shared);
      await begin(left, 2);
      await left.run('account', 'suspend', ADA, ...REASON);
      await left.run('account', 'reinstate', ADA, ...REASON);
      // Nor another loss, which the folder has not heard of either.
      await begin(left, 3);
      expect(await takeOver(left.log, folder, 3)).toMatchObject({ suspended: [] });
      expect(await isSuspended(left)).toBe(false);
      // It is over for good: a later loss of the reinstatement does not bring the suspension back.
      const again = await copyOf(program, shared);
      await begin(again, 4);
      expect(await takeOver(again.log, folder, 4)).toMatchObject({ suspended: [] });
    },
  );

  it('does not undo a reinstatement of before the loss that it has not seen', async () => {
    const { folder, program } = await folderOfSuspended(0);
    await program.run('account', 'reinstate', ADA, ...REASON);
    await begin(program, 2);
    expect(await takeOver(program.log, folder, 2)).toMatchObject({ suspended: [] });
  });

  it('has it suspended again where the reinstatement is older than the suspension', async () => {
    const { folder, program } = await folderOfSuspended(0);
    await program.run('account', 'reinstate', ADA, ...REASON);
    const shared = await program.log.headPosition();
    await program.run('account', 'suspend', ADA, ...REASON);
    await serve(program.log, folder, 1);
    const left = await copyOf(program, shared);
    await begin(left, 2);
    expect(await takeOver(left.log, folder, 2)).toMatchObject({ suspended: [ADA] });
  });

  it('has it suspended again where what is put back is of before the generation that suspended it', async () => {
    const { folder, program, shared } = await folderOfSuspended(9);
    await program.run('account', 'reinstate', ADA, ...REASON);
    const between = await copyOf(program, shared);
    await begin(between, 2);
    await between.run('account', 'suspend', ADA, ...REASON);
    rmSync(join(folder, VIEWS_FILE));
    await serve(between.log, folder, 2);
    // Longer than what was known of generation 2, and all of it older.
    await begin(program, 3);
    expect(await takeOver(program.log, folder, 3)).toMatchObject({ suspended: [ADA] });
  });

  it.each([
    ['knows where it was in force', false],
    ['has forgotten where, as folders of before have', true],
  ])('and had a generation without the account in between, %s', async (_how, isForgotten) => {
    const { folder, program, shared } = await folderOfSuspended(9);
    const empty = await ledger();
    await begin(empty, 2);
    await takeOver(empty.log, folder, 2);
    const file = join(folder, 'refused.json');
    if (isForgotten) writeFileSync(file, readFileSync(file, 'utf8').replace(/,"wasInForce":\{[^}]*\}/, ''));
    const unlifted = await copyOf(program, shared);
    await unlifted.run('account', 'suspend', ADA, ...REASON);
    await unlifted.run('account', 'reinstate', ADA, ...REASON);
    await begin(unlifted, 3);
    const copy = temporaryFolder();
    cpSync(folder, copy, { recursive: true });
    expect(await takeOver(unlifted.log, copy, 3)).toMatchObject({ suspended: [ADA] });
    const lifted = await copyOf(program, shared);
    await begin(lifted, 3);
    await lifted.run('account', 'suspend', ADA, ...REASON);
    await lifted.run('account', 'reinstate', ADA, ...REASON);
    expect(await takeOver(lifted.log, folder, 3)).toMatchObject({ suspended: [] });
  });

  it('has it suspended again where neither a file nor the ledger tells which came first', async () => {
    const folder = temporaryFolder();
    const suspended = { reason: 'fraud', inForce: null };
    writeKeptLockouts(folder, [{ accountId: ADA, revokedKeys: [], suspended }]);
    const { program } = await backup();
    await program.run('account', 'suspend', ADA, ...REASON);
    await program.run('account', 'reinstate', ADA, ...REASON);
    await begin(program, 2);
    expect(await takeOver(program.log, folder, 2)).toMatchObject({ suspended: [ADA] });
  });

  it('where it was in force in the backup that is put back, and was lifted there', async () => {
    const { folder, program } = await folderOfSuspended(0);
    await program.run('account', 'reinstate', ADA, ...REASON);
    const empty = await ledger();
    await begin(empty, 2);
    await takeOver(empty.log, folder, 2);
    await begin(program, 3);
    expect(await takeOver(program.log, folder, 3)).toMatchObject({ suspended: [] });
  });
});

it('of two folders that do the same at once both go over', async () => {
  const { folder, key, putBack } = await folderWithRefusals();
  const found = await putBack();
  const other = [
    ['key', 'revoke', ADA, key],
    ['account', 'suspend', ADA, ...REASON],
  ];
  /** Before each append of the one the other has done it. */
  const append: EventLog['append'] = async (...call) => {
    const first = other.shift();
    if (first !== undefined) await found.run(...first);
    return found.log.append(...call);
  };
  const log: EventLog = Object.assign(Object.create(found.log), {
    append,
    readStream: found.log.readStream.bind(found.log),
  });
  expect(await takeOver(log, folder, 2)).toMatchObject({ revokedKeys: [], suspended: [] });
  expect(other).toEqual([]);
  expect(await refusedIn(found, key)).toEqual({ isRevoked: true, suspended: 'fraud' });
});

describe('views that were set aside before there was a file of who is refused', () => {
  it('are named where they cannot be read, and nothing is taken over until they are moved away', async () => {
    const { folder, putBack } = await folderWithRefusals();
    const file = join(folder, 'views.db.before-generation-2');
    writeFileSync(file, 'this is no database. '.repeat(100));
    const found = await putBack();
    const before = await found.log.headPosition();
    await expect(takeOver(found.log, folder, 3)).rejects.toThrow(
      `${file} cannot be read, and may know who was refused`,
    );
    expect(await found.log.headPosition()).toBe(before);
    renameSync(file, join(folder, 'elsewhere'));
    expect(await takeOver(found.log, folder, 3)).toMatchObject({ suspended: [ADA] });
  });

  /** Views of the account, suspended or not, as a file of that name. */
  async function setAside(folder: string, name: string, generation: number, reason: string | null) {
    const { program } = await backup();
    if (reason !== null) await program.run('account', 'suspend', ADA, '--reason', reason);
    await serve(program.log, folder, generation);
    renameSync(join(folder, VIEWS_FILE), join(folder, name));
  }
  const keptIn = (folder: string) => readKeptLockouts(folder).map(({ suspended }) => suspended?.reason);

  it('are read by their generations, and within one as they were set aside: the last word counts', async () => {
    const folder = temporaryFolder();
    await setAside(folder, 'views.db.before-generation-10', 9, 'tenth');
    await setAside(folder, 'views.db.before-generation-9', 8, 'ninth');
    expect(keptIn(folder)).toEqual(['tenth']);
    await setAside(folder, 'views.db.before-generation-10.10', 9, 'tenth of the tenth');
    await setAside(folder, 'views.db.before-generation-10.2', 9, 'second of the tenth');
    expect(keptIn(folder)).toEqual(['tenth of the tenth']);
    await setAside(folder, 'views.db.before-generation-11', 10, null);
    expect(keptIn(folder)).toEqual([]);
  });

  it('that are of an earlier generation than others lift nothing, wherever they stand', async () => {
    const folder = temporaryFolder();
    await setAside(folder, 'views.db.before-generation-3', 2, 'fraud');
    await setAside(folder, 'views.db.before-generation-4', 1, null);
    expect(keptIn(folder)).toEqual(['fraud']);
  });
});

it('a file that cannot be read is named, and nothing is taken over', async () => {
  const { folder, key, putBack } = await folderWithRefusals();
  await takeOver((await ledger()).log, folder, 2);
  const file = join(folder, 'refused.json');
  const whole = readFileSync(file);
  writeFileSync(file, whole.subarray(0, 20));
  const found = await putBack();
  await expect(takeOver(found.log, folder, 3)).rejects.toThrow(`${file} does not say whose keys and accounts stay`);
  writeFileSync(file, whole);
  await takeOver(found.log, folder, 3);
  expect(await refusedIn(found, key)).toEqual({ isRevoked: true, suspended: 'fraud' });
});

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountId, keyId, ledgerId, NO_STREAM, type Position, revision } from '../../contracts/ids.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { carryOver } from '../../projections/carry-over.ts';
import { VIEWS_FILE, writeLedgerOfViews } from '../../projections/known-views.ts';
import { Projections } from '../../projections/projections.ts';
import { type ProgramInProcess, programInProcess } from '../commands/program-in-process.ts';
import { temporaryFolder } from '../gateway/start-gateway.ts';

const LEDGER = ledgerId('ledger_019a5b3c00007000800000000000000a');
const ADA = 'acct_ada';
const REASON = ['--reason', 'fraud'];

/** A ledger of its own, as somebody has put it back, or an empty one. */
async function ledger(): Promise<ProgramInProcess> {
  const program = await programInProcess();
  onTestFinished(() => program.close());
  return program;
}

/** One with the account and its key, both in use: what a backup of before has. */
async function backup(): Promise<{ readonly program: ProgramInProcess; readonly key: string }> {
  const program = await ledger();
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', ADA);
  const { keyId: issued } = await program.json('key', 'issue', ADA);
  return { program, key: String(issued) };
}

/** What a gateway's life on a generation leaves in its folder. */
async function serve(log: EventLog, folder: string, generation: number): Promise<void> {
  const path = join(folder, VIEWS_FILE);
  const projections = await Projections.start({ log, path, persist: true, onStopped: () => undefined });
  await projections.whenCaughtUp();
  await projections.close();
  writeLedgerOfViews(path, { ledgerId: LEDGER, generation });
}

const takeOver = (log: EventLog, dataFolder: string, generation: number) =>
  carryOver({
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
  return { isRevoked: state.keys[keyId(key)]?.revokedAtMs != null, suspended: state.suspended };
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
  const older = await ledger();
  await older.run('account', 'open', '--email', 'ada@example.com', '--id', ADA);
  expect(await takeOver(older.log, folder, 2)).toMatchObject({ revokedKeys: [], suspended: [ADA] });
  await serve(older.log, folder, 2);
  const found = await putBack();
  expect(await takeOver(found.log, folder, 3)).toMatchObject({ revokedKeys: [{ keyId: key }], suspended: [ADA] });
});

it('an account that was opened anew under its name meanwhile says nothing of the suspension of before', async () => {
  const { folder, key, putBack } = await folderWithRefusals();
  const anew = await ledger();
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

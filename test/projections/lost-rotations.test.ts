import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountId, keyId, ledgerId } from '../../contracts/ids.ts';
import { entryOf } from '../../ledger/account/keyed-tree.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { enterGeneration } from '../../projections/after-loss/enter-generation.ts';
import { findToDoAgain } from '../../projections/after-loss/to-do-again.ts';
import { writeLedgerOfViews } from '../../projections/known-views.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { copyOf, toldOf, viewsOf } from './put-back.ts';

const LEDGER = ledgerId('ledger_019a5b3c00007000800000000000000a');
const ADA = 'acct_ada';

async function serve(log: EventLog, folder: string, generation: number): Promise<string> {
  const path = await viewsOf(log, folder);
  writeLedgerOfViews(path, { ledgerId: LEDGER, generation });
  return path;
}

const takeOver = (log: EventLog, dataFolder: string, generation: number) =>
  enterGeneration({
    ...{ log, dataFolder, identity: { ledgerId: LEDGER, generation } },
    ...{ journal: { settle: () => undefined }, recovered: [], unsettleable: [] },
    ...{ nowMs: Date.now(), actor: 'operator' },
  });

/** A folder that knows two rotations of a key, and the ledger from before them, as often as it is wanted. */
async function rotatedTwice() {
  const folder = temporaryFolder();
  const program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', ADA);
  const openedAt = Number(await program.log.headPosition());
  const { keyId: issued } = await program.json('key', 'issue', ADA, '--name', 'laptop');
  await program.run('key', 'issue', ADA);
  const shared = Number(await program.log.headPosition());
  const rotate = (): Promise<string> => program.run('key', 'rotate', ADA, String(issued), '--again');
  await rotate();
  await rotate();
  const views = await serve(program.log, folder, 1);
  const putBack = (upTo = shared) =>
    copyOf(program.log, join(temporaryFolder(), 'ledger.db'), ({ position }) => position <= upTo);
  return { folder, views, program, openedAt, rotate, key: keyId(String(issued)), putBack };
}

async function isRevoked(log: EventLog, key: string): Promise<boolean | null> {
  const { state } = await loadAccount(log, accountId(ADA));
  return state.type === 'unopened' ? null : entryOf(state.keys, keyId(key))?.revokedAtMs != null;
}

it('a key whose rotation is lost is revoked: its secret of before does not work again', async () => {
  const { folder, views, key, putBack } = await rotatedTwice();
  const left = await putBack();
  const found = await findToDoAgain(left, views, Date.now());
  expect(toldOf(found)).toEqual([
    expect.stringMatching(
      `^key ${key} of ${ADA} \\("laptop", ….{4}\\), for all models, without end: its rotation is lost, and it is revoked: issue another one$`,
    ),
  ]);
  expect(await takeOver(left, folder, 2)).toMatchObject({
    revokedKeys: [],
    rotatedKeys: [{ accountId: ADA, keyId: key }],
  });
  expect(await isRevoked(left, key)).toBe(true);
});

it('a key whose last rotation alone is lost is revoked, too', async () => {
  const { folder, program, key, putBack } = await rotatedTwice();
  const left = await putBack(Number(await program.log.headPosition()) - 1);
  expect(await takeOver(left, folder, 2)).toMatchObject({ rotatedKeys: [{ keyId: key }] });
});

it('a key is not revoked whose rotations are there, or which was rotated since', async () => {
  const { folder, program, rotate, key } = await rotatedTwice();
  const whole = await copyOf(program.log, join(temporaryFolder(), 'ledger.db'));
  await rotate();
  expect(await takeOver(program.log, folder, 2)).toMatchObject({ rotatedKeys: [] });
  expect(await isRevoked(program.log, key)).toBe(false);
  expect(await takeOver(whole, folder, 3)).toMatchObject({ rotatedKeys: [] });
  expect(await isRevoked(whole, key)).toBe(false);
});

it('a rotation is known in a later generation that has the key again, served from or not', async () => {
  const { folder, key, putBack } = await rotatedTwice();
  const empty = await copyOf(null, join(temporaryFolder(), 'ledger.db'));
  expect(await takeOver(empty, folder, 2)).toMatchObject({ rotatedKeys: [] });
  await serve(empty, folder, 2);
  for (const generation of [3, 4]) {
    const found = await putBack();
    expect(await takeOver(found, folder, generation)).toMatchObject({ rotatedKeys: [{ keyId: key }] });
    expect(await isRevoked(found, key)).toBe(true);
  }
  expect(JSON.parse(readFileSync(join(folder, 'refused.json'), 'utf8'))).toMatchObject({
    refused: [{ accountId: ADA, revokedKeys: [], rotatedKeys: [{ keyId: key, inForce: { generation: 1 } }] }],
  });
});

it('a rotation is known behind a generation that has the account without the key', async () => {
  const { folder, key, openedAt, putBack } = await rotatedTwice();
  const older = await putBack(openedAt);
  expect(await takeOver(older, folder, 2)).toMatchObject({ rotatedKeys: [] });
  await serve(older, folder, 2);
  expect(await takeOver(await putBack(), folder, 3)).toMatchObject({ rotatedKeys: [{ keyId: key }] });
});

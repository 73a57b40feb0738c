import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** A ledger on a disk with room, and a backup of it. */
const made = { data: '', backup: '' };

beforeAll(async () => {
  const folder = temporaryFolder();
  Object.assign(made, { data: join(folder, 'data'), backup: join(folder, 'backup') });
  expect(
    await runHere('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--data', made.data),
  ).toMatchObject({ exitCode: 0 });
  expect(await runHere('ledger', 'backup', made.backup, '--data', made.data)).toMatchObject({ exitCode: 0 });
});

/** A disk of its own that has no block left, or takes nothing. */
function takesNothing(how: 'full' | 'read-only') {
  const disk = smallDisk(2_048);
  mkdirSync(disk.folder);
  if (how === 'full') disk.leaveFree(0);
  else disk.makeReadOnly();
  return disk;
}

const MONTH = new Date().toISOString().slice(0, 7);
const FULL = 'make room on the disk of';

describe.runIf(canMount)('what a command writes to a disk that takes nothing', () => {
  const COMMANDS: readonly (readonly string[])[] = [
    ['ledger', 'export', '--format', 'csv', '--out'],
    ['ledger', 'export', '--format', 'hledger', '--out'],
    ['ledger', 'export', '--format', 'ndjson', '--out'],
    ['ledger', 'report', '--month', MONTH, '--out'],
    ['ledger', 'backup'],
  ];

  it.each(COMMANDS.map((command) => [command.join(' '), command] as const))(
    'is told with that disk, and nothing of it stays: %s',
    async (_name, command) => {
      for (const how of ['full', 'read-only'] as const) {
        const disk = takesNothing(how);
        const before = readdirSync(disk.folder);
        const { exitCode, stderr } = await runHere(...command, join(disk.folder, 'out'), '--data', made.data);
        const told =
          how === 'full'
            ? `${FULL} ${disk.folder}`
            : `${disk.folder} is on a disk that is mounted read-only: mount it for writing, or name another place`;
        expect([exitCode, stderr]).toEqual([4, expect.stringContaining(told)]);
        expect(stderr).not.toContain(`${FULL} ${made.data}`);
        expect(readdirSync(disk.folder)).toEqual(before);
      }
    },
  );

  it.each(['full', 'read-only'] as const)('is so by a restore, which leaves no folder: %s', async (how) => {
    const disk = takesNothing(how);
    const { exitCode, stderr } = await runHere('ledger', 'restore', made.backup, '--data', join(disk.folder, 'data'));
    const told = how === 'full' ? `${FULL} ${disk.folder}` : 'mount it for writing, or name another place';
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining(told)]);
    expect(existsSync(join(disk.folder, 'data'))).toBe(false);
  });

  it('is so by a gateway whose data folder cannot be made', async () => {
    const { folder } = takesNothing('read-only');
    const { exitCode, stderr } = await runHere('serve', '--port', '0', '--data', join(folder, 'data'));
    expect([exitCode, stderr]).toEqual([
      4,
      expect.stringContaining(`${folder} is on a disk that is mounted read-only: mount it for writing, or name`),
    ]);
  });
});

describe.runIf(canMount)('what an operator says of an account whose disk is full', () => {
  /** The ledger on a disk of its own. */
  function onFullDisk() {
    const disk = smallDisk(40 * 1_024);
    const data = dirname(disk.folder);
    cpSync(made.data, data, { recursive: true });
    return { ...disk, data };
  }

  it('is not written into the ledger, and is told with the disk', async () => {
    const { data, leaveFree } = onFullDisk();
    leaveFree(40 * 1_024);
    const { exitCode, stderr } = await runHere('account', 'open', '--email', 'eve@example.com', '--data', data);
    expect([exitCode, stderr]).toEqual([
      4,
      `gateway: the log was not written: database or disk is full: ${FULL} ${data}, which has 0 MiB free\n`,
    ]);
  });

  it('is not asked of its gateway or done in its folder, told with the disk, and nothing of it stays', async () => {
    const { data, leaveFree } = onFullDisk();
    const park = () => runHere('projections', 'park', 'acct_ada', '--reason', 'a look', '--data', data);
    leaveFree(0);
    const inFolder = await park();
    mkdirSync(journalFolder(data), { recursive: true });
    const gateway = lockFolder(journalFolder(data));
    const asked = await park();
    gateway.release();
    for (const { exitCode, stderr } of [inFolder, asked])
      expect([exitCode, stderr]).toEqual([
        4,
        expect.stringMatching(`\ngateway: ENOSPC: .*: ${FULL} ${data}, which has 0 MiB free\n$`),
      ]);
    expect(readdirSync(data).filter((name) => name.endsWith('.new'))).toEqual([]);
  });
});

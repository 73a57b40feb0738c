import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { wantOfDisk, wantOfDiskOf } from '../../ledger/want-of-disk.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** As the file system tells it. */
const fault = (code: string, path: string): Error => Object.assign(new Error(`${code}: it failed`), { code, path });

test('a fault for want of room is told with the disk and the way out, also of a file that is not there yet; any other is not', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'none', 'file');
  const out = expect.stringMatching(/^ENOSPC: it failed: make room on the disk of \S+, which has [\d,]+ MiB free$/);
  expect(wantOfDiskOf(fault('ENOSPC', path))).toEqual(out);
  expect(wantOfDiskOf(fault('ENOSPC', path))).toContain(folder);
  for (const other of [fault('ENOENT', path), new Error('something else'), 'no error'])
    expect(wantOfDiskOf(other)).toBeNull();
});

test.runIf(canMount)('a disk takes something while it has room for it', () => {
  const disk = smallDisk(2_048);
  mkdirSync(disk.folder);
  const path = join(disk.folder, 'file');
  expect(wantOfDisk(path)).toBeNull();
  disk.leaveFree(0);
  expect(wantOfDisk(path)).toBe(`make room on the disk of ${disk.folder}, which has 0 MiB free`);
});

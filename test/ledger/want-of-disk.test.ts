import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OutFile } from '../../ledger/export/out-file.ts';
import { wantOfDisk, wantOfDiskOf } from '../../ledger/want-of-disk.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** What it throws. */
async function faultOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  return expect.fail('it was carried out');
}

/** A folder on a disk of its own. */
function onDisk() {
  const disk = smallDisk(2_048);
  mkdirSync(disk.folder);
  return disk;
}

test('any fault but one for want of room is none, and nor is one of which no file is known', () => {
  const path = join(temporaryFolder(), 'none', 'file');
  const fault = (code: string, of: object): Error => Object.assign(new Error(`${code}: it failed`), { code, ...of });
  for (const other of [fault('ENOENT', { path }), fault('ENOSPC', {}), new Error('something else'), 'no error'])
    expect(wantOfDiskOf(other)).toBeNull();
});

test.runIf(canMount)('a fault of a full disk is told with that disk, whichever call met it', async () => {
  const disk = onDisk();
  const [path, source] = [join(disk.folder, 'file'), join(temporaryFolder(), 'source')];
  writeFileSync(source, 'x'.repeat(10_000));
  disk.leaveFree(0);
  const out = `make room on the disk of ${disk.folder}, which has 0 MiB free`;
  // Of a copy the system names the source first, and of a write to what is open no file at all.
  const copied = await faultOf(() => copyFileSync(source, path));
  expect(wantOfDiskOf(copied)).toBe(`ENOSPC: no space left on device, copyfile '${source}' -> '${path}': ${out}`);
  const unwritten = await faultOf(() => OutFile.write(path, async (file) => void (await file.write('x'))));
  expect(wantOfDiskOf(unwritten)).toBeNull();
  expect(wantOfDiskOf(unwritten, path)).toBe(`ENOSPC: no space left on device, write: ${out}`);
});

test.runIf(canMount)(
  'what a disk that is mounted read-only refuses can be named elsewhere; a ledger is not gone on with twice',
  async () => {
    const disk = onDisk();
    disk.makeReadOnly();
    const path = join(disk.folder, 'none', 'file');
    const refused = await faultOf(() => mkdirSync(join(disk.folder, 'none')));
    expect(wantOfDiskOf(refused, path)).toMatch(
      / on a disk that is mounted read-only: mount it for writing, or name another place$/,
    );
    expect(wantOfDiskOf(refused)).toMatch(
      / read-only: mount it for writing; or stop its gateway, copy .* and from then on use that copy alone\. /,
    );
  },
);

test.runIf(canMount)('a disk takes something while it has room for it', () => {
  const disk = onDisk();
  const path = join(disk.folder, 'file');
  expect(wantOfDisk(path)).toBeNull();
  disk.leaveFree(0);
  expect(wantOfDisk(path)).toBe(`make room on the disk of ${disk.folder}, which has 0 MiB free`);
});

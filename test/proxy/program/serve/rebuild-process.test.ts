import { readdirSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import type { Configuration } from '../../../../contracts/configuration.ts';
import { rebuildInProcess } from '../../../../proxy/program/serve/rebuild-process.ts';
import { canMount, smallDisk } from '../../../fixtures/ledger/small-disk.ts';

/** What this process has open below a folder, also where it has no name any more. */
const openBelow = (folder: string): string[] =>
  readdirSync(`/proc/${process.pid}/fd`)
    .map((fd) => nameOf(fd))
    .filter((path) => path.startsWith(folder));

function nameOf(fd: string): string {
  try {
    return readlinkSync(`/proc/${process.pid}/fd/${fd}`);
  } catch {
    // The one by which the list was read.
    return '';
  }
}

it.runIf(canMount)(
  'a rebuild whose configuration the disk has no room for is not begun, and keeps no descriptor',
  async () => {
    const disk = smallDisk(256);
    const data = dirname(disk.folder);
    disk.leaveFree(0);
    const configuration = { data, eventLog: { kind: 'sqlite' }, projections: { source: 'log' } } as Configuration;
    const rebuilt = rebuildInProcess(configuration, new AbortController().signal);
    await expect(rebuilt).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(openBelow(data)).toEqual([]);
    expect(readdirSync(data)).toEqual(expect.not.arrayContaining([expect.stringMatching(/^rebuild-/)]));
  },
);

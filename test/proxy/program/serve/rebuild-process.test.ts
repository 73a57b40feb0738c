import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import type { Configuration } from '../../../../contracts/configuration.ts';
import { rebuildInProcess } from '../../../../proxy/program/serve/rebuild-process.ts';
import { canMount, smallDisk } from '../../../fixtures/ledger/small-disk.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

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

/** As `/proc/PID/stat` has it behind the name: the parent, the group and the session. */
const familyOf = (pid: string): string[] =>
  /\) \S (\d+ \d+ \d+)/.exec(textOf(`/proc/${pid}/stat`))?.[1]?.split(' ') ?? [];

/** Of rebuilds that this process has begun. */
const sessionsOfRebuilds = (): (string | undefined)[] =>
  readdirSync('/proc')
    .filter((pid) => familyOf(pid)[0] === String(process.pid) && textOf(`/proc/${pid}/cmdline`).includes('rebuild'))
    .map((pid) => familyOf(pid)[2]);

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // It has ended.
    return '';
  }
}

it.runIf(process.platform === 'linux')(
  'a rebuild is of another session than the gateway, which keeps its share of the cores',
  async () => {
    const ended = new AbortController();
    const configuration = {
      data: temporaryFolder(),
      eventLog: { kind: 'sqlite' },
      projections: { source: 'log' },
    } as Configuration;
    const rebuilt = rebuildInProcess(configuration, ended.signal);
    const sessions = sessionsOfRebuilds();
    ended.abort();
    await expect(rebuilt).rejects.toThrow();
    expect(sessions).toEqual([expect.any(String)]);
    expect(sessions).not.toContain(familyOf('self')[2]);
  },
);

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

import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { finishSwitch, settledFile, switchFiles } from '../../projections/switched-file.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { killStarted, startProcess } from '../fixtures/processes/child-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const PRELOAD = fileURLToPath(new URL('../commands/kill-at-call-preload.ts', import.meta.url));
const SWITCH = fileURLToPath(new URL('../commands/switch-files-main.ts', import.meta.url));
afterAll(killStarted);

/** Files that say which they are, and a folder where the live ones are to be kept. */
function inTheWay() {
  const data = temporaryFolder();
  const files = viewFilesOf(data);
  mkdirSync(files.rebuildFolder);
  for (const [path, name] of [
    [files.live, 'live'],
    [files.rebuild, 'rebuilt'],
  ] as const) {
    const database = new DatabaseSync(path);
    database.exec(`CREATE TABLE checkpoint (feed TEXT, checkpoint TEXT);
      INSERT INTO checkpoint VALUES ('log', '{"position":1,"stream":"a","revision":0,"id":"x"}');
      CREATE TABLE named (name TEXT); INSERT INTO named VALUES ('${name}')`);
    database.close();
  }
  mkdirSync(join(files.previous, 'in the way'), { recursive: true });
  return { data, files };
}

function nameIn(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true });
  const row = database.prepare('SELECT name FROM named').get();
  database.close();
  return row?.name;
}

it('a file that another connection has for itself is waited for, as one that is read', async () => {
  const path = join(temporaryFolder(), 'views.db');
  const holder = new DatabaseSync(path);
  holder.exec('PRAGMA journal_mode = WAL; PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE held (by TEXT)');
  const inVain = AbortSignal.abort();
  await expect(settledFile(path, inVain)).rejects.toMatchObject({ name: 'ViewsBusyError' });
  const settled = settledFile(path, new AbortController().signal);
  holder.close();
  await settled;
});

describe('a switch whose views of before cannot be kept', () => {
  it('is taken back: both files are what they were, and it can be done once they can be', () => {
    const { files } = inTheWay();
    const inodes = () => [files.live, files.rebuild].map((path) => statSync(path).ino);
    const before = inodes();
    for (const _time of [1, 2]) {
      expect(() => switchFiles(files, files.rebuild)).toThrow(/EISDIR|ENOTEMPTY/);
      expect([nameIn(files.live), nameIn(files.rebuild), inodes()]).toEqual(['live', 'rebuilt', before]);
      expect(existsSync(`${files.previous}.new`)).toBe(false);
    }
    rmSync(files.previous, { recursive: true });
    switchFiles(files, files.rebuild);
    expect([nameIn(files.live), nameIn(files.previous), existsSync(files.rebuild)]).toEqual(['rebuilt', 'live', false]);
  });

  it('and killed in that it is finished, with no second name of the live views where others are made anew', async () => {
    const { data, files } = inTheWay();
    const stderrFd = openSync(join(temporaryFolder(), 'stderr'), 'w');
    // The one that is linked back.
    const environment = { KILL_AT: 'after link views.db' };
    const { child } = startProcess(['--import', PRELOAD, SWITCH, data], { stderrFd, environment });
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
    expect(statSync(files.live).ino).toBe(statSync(files.rebuild).ino);
    rmSync(files.previous, { recursive: true });
    finishSwitch(files);
    expect([nameIn(files.live), nameIn(files.previous), existsSync(files.rebuild)]).toEqual(['rebuilt', 'live', false]);
  });
});

import { existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readFoldedThrough } from '../../projections/known-views.ts';
import { areOfThisProgram } from '../../projections/prepared-views.ts';
import { canMount } from '../fixtures/ledger/small-disk.ts';
import { killStarted, startProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { expectRight, traffic } from './billed-traffic.ts';
import { type OlderFolder, olderFolder, onSmallDisk } from './older-folder.ts';

const PRELOAD = fileURLToPath(new URL('kill-at-call-preload.ts', import.meta.url));
const MIB = 1_024 ** 2;
/** The journal's reserve, its margin, and less than what is looked for beside that before views are made. */
const FOR_REQUESTS = 13 * MIB;
/** No more requests than the small disk has room for, however fast the machine is. */
const SPARED = { pauseMs: 20 };

let first: OlderFolder;
beforeAll(async () => {
  first = await olderFolder();
});
afterAll(killStarted);

/** A gateway in a process of its own, which serves from such views for want of room. */
async function servedFromOlder(environment: Readonly<Record<string, string>> = {}) {
  const { disk, data, files } = onSmallDisk(first);
  disk.leaveFree(FOR_REQUESTS);
  const log = join(temporaryFolder(), 'stderr');
  const config = join(data, 'gateway.json');
  const program = startProcess(['--import', PRELOAD, PROGRAM, '--json', 'serve', '--config', config, '--data', data], {
    stderrFd: openSync(log, 'w'),
    environment,
  });
  // Before the disk goes.
  onTestFinished(() => void program.child.kill('SIGKILL'));
  const { url } = await program.firstLine;
  expect(areOfThisProgram(files.live)).toBe(false);
  return { program, disk, data, files, client: { url, key: first.key }, logged: () => readFileSync(log, 'utf8') };
}

describe.runIf(canMount)('where a gateway that serves from views of an earlier version has room at last', () => {
  it.each([
    ['before link views.previous.db.new', false],
    ['after link views.previous.db.new', false],
    ['after rename views.db', true],
    ['after rename views.previous.db', true],
  ])(
    'a kill -9 %s of their change leaves the ones or the others, and the next start is right',
    async (instant, areOwn) => {
      const { program, disk, data, files, client } = await servedFromOlder({ KILL_AT: instant });
      const { answered, running } = traffic(client, SPARED);
      disk.clear();
      expect(await program.ended).toBe(null);
      await running;
      expect([areOfThisProgram(files.live), readFoldedThrough(files.live)?.feed]).toEqual([areOwn, 'log']);
      await expectRight({ data }, answered);
      expect(existsSync(`${files.previous}.new`)).toBe(false);
      expect([areOfThisProgram(files.live), areOfThisProgram(files.previous)]).toEqual([true, false]);
    },
  );

  it('a change that fails leaves them as they are, and is tried again; requests go on all the while', async () => {
    const { program, disk, data, files, client, logged } = await servedFromOlder();
    const { answered, refused, stop } = traffic(client, SPARED);
    // Where they are to be kept.
    mkdirSync(join(files.previous, 'in the way'), { recursive: true });
    const live = statSync(files.live).ino;
    disk.clear();
    await expect.poll(logged).toMatch(/views\.previous\.db.*cannot be made one of this/);
    const until = answered.length + 10;
    await expect.poll(() => answered.length).toBeGreaterThan(until);
    expect([statSync(files.live).ino, areOfThisProgram(files.live)]).toEqual([live, false]);
    expect([existsSync(files.upcast), existsSync(`${files.previous}.new`)]).toEqual([false, false]);
    rmSync(files.previous, { recursive: true });
    await expect.poll(() => areOfThisProgram(files.live)).toBe(true);
    const then = answered.length + 10;
    await expect.poll(() => answered.length).toBeGreaterThan(then);
    await stop();
    expect(refused).toEqual([]);
    await stopInOrder(program);
    await expectRight({ data }, answered);
  });
});

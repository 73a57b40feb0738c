import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { accountStream, ledgerId } from '../../contracts/ids.ts';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { roomKeptBytes } from '../../ledger/journal/kept-room.ts';
import { readLedgerOfViews, writeLedgerOfViews } from '../../projections/known-views.ts';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import { removeViews } from '../../projections/remove-views.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { askGateway } from '../../proxy/operator-requests/ask-gateway.ts';
import { openEventLog } from '../../proxy/program/open-event-log.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { toVersion6 } from '../fixtures/ledger/older-views.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { runHere, runHereForJson, runHereWith } from '../fixtures/processes/run-here.ts';
import { execute } from '../projections/example-ledger.ts';

let whole = '';
let first: Pick<TestGateway, 'accountId' | 'key'>;

/** One ledger for all: an account with a request. */
beforeAll(async () => {
  const gateway = await startTestGateway();
  expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  await gateway.gateway.process.settlement.idle();
  await gateway.stop();
  whole = gateway.data;
  first = gateway;
});

const KIB = 1_024;
const MIB = 1_024 * KIB;
const BLOCK = 4 * KIB;
/** What SQLite puts beside files that are read. */
const BESIDE = 128 * KIB;

/** A folder of its own on a disk of its own. */
function onDisk() {
  const disk = smallDisk(40 * KIB);
  const data = dirname(disk.folder);
  cpSync(whole, data, { recursive: true });
  const files = viewFilesOf(data);
  /** For a gateway, as much as it has not taken yet, and what may be written unseen. */
  const kept = () => roomKeptBytes(data) + VIEW_LIMITS.roomAheadBytes;
  const hasMade = () => readdirSync(files.rebuildFolder).some((name) => name.startsWith('views.db'));
  const serve = async () => {
    const gateway = endedLater(await startTestGateway({ data }));
    return { ...gateway, key: first.key };
  };
  return { disk, data, kept, hasMade, serve, ...files };
}

const rebuild = (data: string, ...more: string[]) =>
  runHereForJson('projections', 'rebuild', '--all', '--data', data, ...more);
const ended = (data: string, ...which: string[]) => runHere('projections', 'rebuild', ...which, '--data', data);

const servesOn = async (gateway: TestGateway): Promise<void> => {
  expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  expect(await get(gateway, '/readyz')).toMatchObject({ status: 200, body: { ok: true } });
};

describe.runIf(canMount)('where the disk has no room for other views a rebuild', () => {
  it('is not begun, and the gateway beside it serves on: twice the live views has to be free, and what that keeps', async () => {
    const { disk, data, kept, live, hasMade, serve } = onDisk();
    const gateway = await serve();
    const twice = 2 * Math.max(statSync(live).size, statSync(`${live}-wal`).size);
    disk.leaveFree(kept() + twice - BLOCK);
    const refused = await ended(data, '--all');
    expect(refused).toMatchObject({ exitCode: 4 });
    expect(refused.stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(
        /: \d+ MiB have to be free, with what a gateway keeps for requests, and \d+ MiB are\. Make room/,
      ),
    ]);
    expect(hasMade()).toBe(false);
    await servesOn(gateway);
    disk.clear();
    expect(await rebuild(data)).toMatchObject({ isResumed: false, switched: 'in the gateway' });
  });

  it('keeps what one before it has made, which counts as there', async () => {
    const { disk, data, kept, live, rebuild: made, hasMade } = onDisk();
    await rebuild(data, '--dry-run');
    // More than twice the live ones, which are more than what SQLite puts beside files.
    execute(made, `CREATE TABLE long (it BLOB); INSERT INTO long VALUES (zeroblob(${MIB}))`);
    expect(2 * statSync(live).size).toBeGreaterThan(BESIDE);
    disk.leaveFree(kept() - BLOCK);
    expect(await ended(data, '--all')).toMatchObject({
      exitCode: 4,
      stderr: expect.stringMatching(/ MiB are, beside the 1 MiB that a rebuild before has made, which stay/),
    });
    expect(hasMade()).toBe(true);
    disk.clear();
    disk.leaveFree(kept() + BESIDE);
    expect(await rebuild(data)).toMatchObject({ isResumed: true, switched: 'in the folder' });
  });

  it('does not keep what one of another ledger has made: it goes, and makes room', async () => {
    const { disk, data, kept, rebuild: made, hasMade } = onDisk();
    const left = async (): Promise<void> => {
      await rebuild(data, '--dry-run');
      execute(made, `CREATE TABLE long (it BLOB); INSERT INTO long VALUES (zeroblob(${4 * MIB}))`);
      const identity = readLedgerOfViews(made) ?? expect.fail('of a ledger');
      writeLedgerOfViews(made, { ...identity, ledgerId: ledgerId('other') });
    };
    await left();
    disk.leaveFree(kept() - 4 * MIB - BLOCK);
    const refused = await ended(data, '--all');
    expect(refused).toMatchObject({ exitCode: 4, stderr: expect.stringMatching(/ MiB are\. Make room/) });
    expect(hasMade()).toBe(false);
    disk.clear();
    await left();
    // Too little beside it, and enough without.
    disk.leaveFree(kept() - BLOCK);
    expect(await rebuild(data)).toMatchObject({ leftBefore: 'nothing', switched: 'in the folder' });
  });

  it('ends on the way before that of requests is taken, gives back what it has taken, and leaves the live ones', async () => {
    const { disk, data, kept, live, hasMade } = onDisk();
    removeViews(live);
    disk.leaveFree(kept() + BESIDE);
    expect(await ended(data, '--all')).toMatchObject({
      exitCode: 4,
      stderr: expect.stringMatching(/MiB are free, of which \d+ MiB are kept for requests: other views have no room/),
    });
    expect(hasMade()).toBe(false);
  });

  it('of one view does so too, where there is none for the rows of the others', async () => {
    const { disk, data, kept, live, rebuild: made, hasMade } = onDisk();
    await rebuild(data, '--dry-run');
    execute(made, `CREATE TABLE long (it BLOB); INSERT INTO long VALUES (zeroblob(${6 * MIB}))`);
    const before = readFileSync(live);
    disk.leaveFree(kept() + 4 * MIB);
    expect(await ended(data, 'monthly')).toMatchObject({
      exitCode: 4,
      stderr: expect.stringMatching(/ MiB have to be free, .*other views have no room/),
    });
    expect(hasMade()).toBe(false);
    expect(readFileSync(live)).toEqual(before);
  });
});

/** The commands, on a disk that others fill while what was made is verified: whatever comes behind it finds it so. */
const filledBehind = (work: () => void): Parameters<typeof runHereWith>[0] => ({
  openEventLog: async (configuration, use) => {
    const log = await openEventLog(configuration, use);
    const { rebuild: made } = viewFilesOf(configuration.data);
    const readStream: typeof log.readStream = (stream, ...rest) => {
      if (stream === accountStream(first.accountId) && existsSync(made)) work();
      return log.readStream(stream, ...rest);
    };
    return new Proxy(log, {
      get: (of, name) => {
        const is = Reflect.get(of, name);
        return name === 'readStream' ? readStream : typeof is === 'function' ? is.bind(of) : is;
      },
    });
  },
});

/** From no block to as many as all of it needs. */
const LEFT_KIB = [0, 4, 12, 24, 40, 64, 96, 128, 2_048];

describe.runIf(canMount).each([
  ['in the folder', false],
  ['in the gateway', true],
])('where others fill the disk before a rebuild has switched %s', (switched, isServed) => {
  it('it ends and says so, with nothing left of it and the live views as they were, or is done', async () => {
    const codes = new Set<number>();
    const { disk, data, live, hasMade, serve } = onDisk();
    const gateway = isServed ? await serve() : null;
    for (const kib of LEFT_KIB) {
      const before = statSync(live).ino;
      const fills = filledBehind(() => disk.leaveFree(kib * KIB));
      const { exitCode, stderr } = await runHereWith(fills, 'projections', 'rebuild', '--all', '--data', data);
      codes.add(exitCode);
      if (exitCode === 0) expect(statSync(live).ino).not.toBe(before);
      else {
        expect([exitCode, stderr]).toEqual([4, expect.stringContaining('have no room beside the live ones')]);
        expect(stderr.trimEnd().split('\n')).toHaveLength(1);
        expect(statSync(live).ino).toBe(before);
      }
      expect(hasMade()).toBe(false);
      if (gateway !== null) await servesOn(gateway);
      disk.clear();
    }
    expect([...codes].sort()).toEqual([0, 4]);
    expect(await rebuild(data)).toMatchObject({ switched, differences: 0 });
  }, 120_000);
});

describe.runIf(canMount)('where the disk has no room a way back', () => {
  it('ends, says so, and can be gone again: the views of before stay', async () => {
    const { disk, data, live, previous } = onDisk();
    expect(await rebuild(data)).toMatchObject({ switched: 'in the folder' });
    const before = readFileSync(live);
    // Where what is free is for requests, where a row is refused, and where the file beside it is.
    for (const free of [4 * MIB, 80 * KIB, 64 * KIB]) {
      disk.leaveFree(free);
      const refused = await runHere('projections', 'rollback', '--data', data);
      expect(refused).toMatchObject({
        exitCode: 4,
        stderr: expect.stringContaining('have no room beside the live ones'),
      });
      expect(refused.stderr).not.toContain('is gone');
    }
    expect([existsSync(previous), readFileSync(live).equals(before)]).toEqual([true, true]);
    disk.clear();
    expect(await runHereForJson('projections', 'rollback', '--data', data)).toMatchObject({
      switched: 'in the folder',
    });
  });

  it('says how much it lacks also where SQLite cannot even read, and has no word of the disk', async () => {
    const { disk, data, live, previous } = onDisk();
    expect(await rebuild(data)).toMatchObject({ switched: 'in the folder' });
    const before = readFileSync(live);
    for (const kib of [0, 8]) {
      disk.leaveFree(kib * KIB);
      expect(await runHere('projections', 'rollback', '--data', data)).toMatchObject({
        exitCode: 4,
        stderr: expect.stringMatching(/have no room .*: \d+ MiB have to be free, .*, and 0 MiB are: make as much/),
      });
      disk.clear();
    }
    expect([existsSync(previous), readFileSync(live).equals(before)]).toEqual([true, true]);
  });

  it('is not gone by a gateway, which serves on from what it has and writes it when there is room', async () => {
    const { disk, data, serve, rebuildFolder, live, previous } = onDisk();
    const gateway = await serve();
    const { projections } = gateway.gateway.process;
    expect(await rebuild(data)).toMatchObject({ switched: 'in the gateway' });
    const before = statSync(live).ino;
    const command = lockFolder(rebuildFolder);
    for (const kib of [16, 24, 32, 40, 96, 512]) {
      disk.leaveFree(kib * KIB);
      const asked = { dataFolder: data, clock: Date.now, timeMs: 60_000, isThere: () => true };
      expect(await askGateway({ type: 'switch-views', to: 'previous' }, asked)).toEqual({
        refused: expect.any(String),
        shortage: 'disk',
      });
      expect([statSync(live).ino, existsSync(previous), projections.isLive]).toEqual([before, true, true]);
      await servesOn(gateway);
      disk.clear();
      await projections.whenWritten();
      expect(projections.unwritten).toBeNull();
    }
    command.release();
    expect(await runHereForJson('projections', 'rollback', '--data', data)).toMatchObject({
      switched: 'in the gateway',
    });
  }, 120_000);
});

describe.runIf(canMount)('where the disk has no room for views that a gateway renews by itself', () => {
  it('it serves on from those of the earlier version, and its log and its operators are told', async () => {
    const { disk, data, kept, live, hasMade } = onDisk();
    toVersion6(live);
    const logLines: string[] = [];
    // As its process does it, which answers with its last words; others have filled the disk by then.
    const rebuildViews = async () => {
      disk.leaveFree(kept() - BLOCK);
      const { exitCode, stderr } = await ended(data, '--all');
      return `${exitCode} ${stderr}`;
    };
    const gateway = { ...endedLater(await startTestGateway({ data, logLines, rebuildViews })), key: first.key };
    const told = () => logLines.map((line) => JSON.parse(line)).filter(({ reason }) => reason !== undefined);
    await expect
      .poll(told)
      .toMatchObject([
        { level: 50, reason: expect.stringMatching(/4 .* MiB have to be free, .* \d+ MiB are\. Make room/s) },
      ]);
    expect(gateway.gateway.process.renewal?.failures).toBe(1);
    await servesOn(gateway);
    expect(hasMade()).toBe(false);
    const { files } = await runHereForJson('projections', 'status', '--data', data);
    expect(JSON.stringify(files)).toMatch(/serving version 6, \d+ not rebuilt/);
    disk.clear();
    expect(await rebuild(data)).toMatchObject({ switched: 'in the gateway' });
    expect(gateway.gateway.process.renewal?.failures).toBe(0);
  });
});

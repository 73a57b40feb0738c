import { execFile } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { shortageOf, ToldShortageError } from '../../../contracts/shortage.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { rotateSealKey } from '../../../ledger/seals/rotate-key.ts';
import { keyOfFolder, type SealKey, sealKeyFile } from '../../../ledger/seals/seal-keys.ts';
import { verifySeals } from '../../../ledger/seals/verify-seals.ts';
import { sealKeySource } from '../../../proxy/program/configuration/seal-key-of.ts';
import { chainOf } from '../../fixtures/ledger/seal-chain.ts';
import { canMount, smallDisk } from '../../fixtures/ledger/small-disk.ts';
import { untilSealed } from '../../fixtures/ledger/until-sealed.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { NOW_MS, newLog, started, write } from './sealer-scene.ts';

const SEALS = { events: 10, afterMs: 60_000, copyTo: null };

describe('of a sealer the key', () => {
  it('that was followed by another signs on until that one has sealed, and nothing more from then on', async () => {
    const log = await newLog();
    const before = keyOfFolder(temporaryFolder()).key;
    const next = keyOfFolder(temporaryFolder()).key;
    const sealedBy = async (key: typeof next, seals: number): Promise<void> => {
      const { sealer } = started(log, { key: () => key });
      await write(log, 10);
      await untilSealed(log, seals);
      await sealer.close();
    };
    await sealedBy(before, 1);
    await rotateSealKey(log, { from: before, to: next, recording: recordingBy('operator', NOW_MS) });
    await sealedBy(before, 2);
    await sealedBy(next, 3);
    const { sealer } = started(log, { key: () => before });
    await write(log, 10);
    await expect
      .poll(() => sealer.standing().stopped)
      .toBe(
        `the ledger is sealed by the key ${next.keyId}, which has followed ${before.keyId}: give this gateway that one, and ` +
          'start it again',
      );
    expect((await chainOf(log)).seals.map(({ keyId }) => keyId)).toEqual([before.keyId, before.keyId, next.keyId]);
    expect((await verifySeals(log, { keys: null, anchors: [], leaves: null })).faults).toEqual([]);
  });

  it('that was introduced by a clock ahead of the sealer’s is of before its seals, of which none is of before another', async () => {
    const log = await newLog();
    const [before, next] = [keyOfFolder(temporaryFolder()).key, keyOfFolder(temporaryFolder()).key];
    const sealedBy = async (key: typeof next, seals: number, nowMs: number): Promise<void> => {
      const { sealer } = started(log, { key: () => key, clock: () => nowMs });
      await write(log, 10);
      await untilSealed(log, seals);
      await sealer.close();
    };
    await sealedBy(before, 1, NOW_MS);
    await sealedBy(before, 2, NOW_MS + 2_000);
    await sealedBy(before, 3, NOW_MS + 1_000);
    await rotateSealKey(log, { from: before, to: next, recording: recordingBy('operator', NOW_MS + 8_000) });
    await sealedBy(next, 4, NOW_MS + 3_000);
    await sealedBy(next, 5, NOW_MS + 9_000);
    const { seals } = await chainOf(log);
    const at = (ms: number): string => new Date(NOW_MS + ms).toISOString();
    expect(seals.map(({ sealedAt }) => sealedAt)).toEqual([0, 2_000, 2_000, 8_000, 9_000].map(at));
  });

  it('that was introduced is followed by one that is not of before it', async () => {
    const log = await newLog();
    const [first, second] = [keyOfFolder(temporaryFolder()).key, keyOfFolder(temporaryFolder()).key];
    await rotateSealKey(log, { from: null, to: first, recording: recordingBy('operator', NOW_MS) });
    await rotateSealKey(log, { from: first, to: second, recording: recordingBy('operator', NOW_MS - 5_000) });
    expect((await chainOf(log)).keys.map(({ validFrom }) => validFrom)).toEqual(
      Array(2).fill(new Date(NOW_MS).toISOString()),
    );
  });

  it('that another has followed and sealed with introduces nobody; of two rotations before that each does', async () => {
    const log = await newLog();
    const keys = [1, 2, 3, 4].map(() => keyOfFolder(temporaryFolder()).key);
    const [a, b, c, d] = keys as [SealKey, SealKey, SealKey, SealKey];
    const recording = recordingBy('operator', NOW_MS);
    await rotateSealKey(log, { from: a, to: b, recording });
    expect(await rotateSealKey(log, { from: a, to: c, recording })).toMatchObject({ type: 'done' });
    const { sealer } = started(log, { key: () => b });
    await write(log, 10);
    await untilSealed(log, 1);
    await sealer.close();
    const refused = await rotateSealKey(log, { from: a, to: d, recording });
    expect(refused).toEqual({ type: 'followed', keyId: a.keyId, by: b.keyId });
    expect(await rotateSealKey(log, { from: b, to: d, recording })).toMatchObject({ type: 'done' });
    expect((await verifySeals(log, { keys: null, anchors: [], leaves: null })).faults).toEqual([]);
  });

  it('of a folder is that of who was first, where two make it at once', async () => {
    const [first, folder] = [temporaryFolder(), temporaryFolder()];
    const { key } = keyOfFolder(first);
    const preload = fileURLToPath(new URL('other-is-first-preload.ts', import.meta.url));
    const keys = new URL('../../../ledger/seals/seal-keys.ts', import.meta.url);
    const program = `import { keyOfFolder } from '${keys}';
      const { key, isNew } = keyOfFolder(process.argv[1]);
      console.log(key.keyId, isNew);`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', preload, '--input-type=module', '--eval', program, folder],
      { env: { ...process.env, FIRST: sealKeyFile(first) } },
    );
    expect(stdout).toBe(`${key.keyId} false\n`);
    expect(keyOfFolder(folder).key.keyId).toBe(key.keyId);
    expect([readdirSync(first), readdirSync(folder)]).toEqual([['seal-key'], ['seal-key']]);
  });

  it('that the machine has no descriptor for at its start is told, and stops nothing', async () => {
    const short = new ToldShortageError('EMFILE: too many open files', 'descriptors');
    const { sealer, lines } = started(await newLog(), {
      key: () => {
        throw short;
      },
    });
    await expect.poll(() => lines.map((line) => JSON.parse(line))).toMatchObject([{ reason: short.message }]);
    expect(sealer.standing().stopped).toBeNull();
  });

  it.runIf(canMount)(
    'that cannot be made on a full disk is told as what passes, and is made once there is room',
    () => {
      const disk = smallDisk(1_024);
      const data = dirname(disk.folder);
      const source = sealKeySource({ seals: { ...SEALS, key: { type: 'data folder' } }, data, file: null });
      disk.leaveFree(0);
      const before = readdirSync(data);
      let told: unknown = null;
      try {
        source?.(true);
      } catch (error) {
        told = error;
      }
      expect([shortageOf(told), String(told)]).toEqual(['disk', expect.stringContaining(sealKeyFile(data))]);
      expect(readdirSync(data)).toEqual(before);
      disk.clear();
      expect(source?.(true).keyId).toBe(keyOfFolder(data).key.keyId);
    },
  );

  it('that is gone from its folder is not made anew where the ledger knows one: the one in memory goes on', async () => {
    const log = await newLog();
    const dataFolder = temporaryFolder();
    const file = sealKeyFile(dataFolder);
    const source = { seals: { ...SEALS, key: { type: 'data folder' } as const }, data: dataFolder, file: null };
    const key = sealKeySource(source) ?? undefined;
    await write(log, 9);
    const first = started(log, { dataFolder, ...(key === undefined ? {} : { key }) });
    await untilSealed(log, 1);
    rmSync(file);
    await write(log, 10);
    await untilSealed(log, 2);
    expect(first.sealer.standing().stopped).toBeNull();
    expect(first.lines.join()).toContain('the one of before goes on');
    await first.sealer.close();
    const second = started(log, { dataFolder, ...(key === undefined ? {} : { key }) });
    await expect.poll(() => second.sealer.standing().stopped).toContain(`${file} does not exist`);
    // It says what to do, and not where in the program it was found.
    const told = second.lines.find((line) => line.includes('nothing more of the ledger is sealed')) ?? '{}';
    expect(JSON.parse(told)).toMatchObject({
      reason: expect.stringMatching(
        new RegExp(
          `put it back .*, and start the gateway again; where it is lost: gateway ledger keys rotate --lost --data ${dataFolder}$`,
        ),
      ),
    });
    expect([...first.lines, ...second.lines].join()).not.toMatch(/"stack"|\n {4}at /);
    expect(existsSync(file)).toBe(false);
  });
});

import { existsSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { rotateSealKey } from '../../../ledger/seals/rotate-key.ts';
import { keyOfFolder, sealKeyFile } from '../../../ledger/seals/seal-keys.ts';
import { verifySeals } from '../../../ledger/seals/verify-seals.ts';
import { sealKeySource } from '../../../proxy/program/configuration/seal-key-of.ts';
import { chainOf } from '../../fixtures/ledger/seal-chain.ts';
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
    expect(existsSync(file)).toBe(false);
  });
});

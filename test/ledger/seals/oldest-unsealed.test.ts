import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { EventLog, RecordedEvent } from '../../../contracts/event-log.ts';
import { revision, SEALS_STREAM } from '../../../contracts/ids.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { SEAL_LIMITS } from '../../../ledger/seals/limits.ts';
import { oldestUnsealed } from '../../../ledger/seals/oldest-unsealed.ts';
import { rotateSealKey } from '../../../ledger/seals/rotate-key.ts';
import { keyOfFolder } from '../../../ledger/seals/seal-keys.ts';
import { chainOf } from '../../fixtures/ledger/seal-chain.ts';
import { untilSealed } from '../../fixtures/ledger/until-sealed.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { ACCOUNT, LOGS, NOW_MS, newLog, started, writeNow } from './sealer-scene.ts';

const FRONTIER = 'seal-frontier.json';

/** Seals of so many events each over all that such are due for, behind the ledger's identity and further events. */
async function sealed(log: EventLog, { further, events }: { readonly further: number; readonly events: number }) {
  await writeNow(log, further);
  const made = started(log, { events });
  await untilSealed(log, Math.floor((further + 1) / events));
  await made.sealer.close();
  return made;
}

/** Where it was looked for, by its place in its stream. */
const placeOf = (oldest: RecordedEvent | null | string) =>
  oldest === null || typeof oldest === 'string' ? oldest : [oldest.stream, Number(oldest.revision)];

describe.each(LOGS)('the first event without a seal, on $kind,', (given) => {
  it('stands before the newest seal where that leaves it to the next one, whatever the folder knows', async () => {
    const log = await given.newLog();
    expect(placeOf(await oldestUnsealed(log, temporaryFolder()))).toEqual(['ledger', 0]);
    const { dataFolder } = await sealed(log, { further: 13, events: 5 });
    for (const folder of [dataFolder, temporaryFolder()])
      expect(placeOf(await oldestUnsealed(log, folder))).toEqual([ACCOUNT, 9]);
    // A key that follows is none either.
    const [from, to] = [keyOfFolder(dataFolder).key, keyOfFolder(temporaryFolder()).key];
    await rotateSealKey(log, { from, to, recording: recordingBy('test', NOW_MS) });
    expect(placeOf(await oldestUnsealed(log, dataFolder))).toEqual([ACCOUNT, 9]);
  });

  it('is counted on from an old seal where the folder knows that, and others have sealed since', async () => {
    const log = await given.newLog();
    const { dataFolder } = await sealed(log, { further: 6, events: 5 });
    await writeNow(log, 4);
    const { key } = keyOfFolder(dataFolder);
    const next = started(log, { events: 5, key: () => key });
    await untilSealed(log, 2);
    await next.sealer.close();
    expect(placeOf(await oldestUnsealed(log, dataFolder))).toEqual([ACCOUNT, 9]);
  });

  it('may stand behind more seals than are read at once, or be none', async () => {
    const log = await given.newLog();
    const { dataFolder } = await sealed(log, { further: 119, events: 1 });
    expect(await oldestUnsealed(log, dataFolder)).toBeNull();
    await writeNow(log, 1);
    expect(placeOf(await oldestUnsealed(log, dataFolder))).toEqual([ACCOUNT, 119]);
  });
});

it('of a long log it is not looked for where the folder knows of no seal near the newest one', async () => {
  const log = await newLog();
  const { dataFolder } = await sealed(log, { further: 4, events: 5 });
  const [seal] = (await chainOf(log)).seals;
  if (seal === undefined) throw new Error('nothing is sealed');
  const treeSize = seal.treeSize + SEAL_LIMITS.countedMax;
  const far = { type: 'LedgerSealed', data: { ...seal, seal: 1, treeSize } } as const;
  await log.append(SEALS_STREAM, revision(1), encodeEvents([far], recordingBy('test', NOW_MS)));
  // The log ends before what it says to cover.
  expect(await oldestUnsealed(log, dataFolder)).toBeNull();
  rmSync(join(dataFolder, FRONTIER));
  expect(await oldestUnsealed(log, dataFolder)).toBe('too far');
});

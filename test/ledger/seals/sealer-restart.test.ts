import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ProposedEvent } from '../../../contracts/event-log.ts';
import { NO_STREAM } from '../../../contracts/ids.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { SEAL_LIMITS } from '../../../ledger/seals/limits.ts';
import { keyOfFolder } from '../../../ledger/seals/seal-keys.ts';
import { chainOf } from '../../fixtures/ledger/seal-chain.ts';
import { untilSealed } from '../../fixtures/ledger/until-sealed.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { ACCOUNT, LOGS, NOW_MS, newFile, newLog, sizesOf, started, write, writeNow } from './sealer-scene.ts';

const suspended = (): ProposedEvent => {
  const { commandId } = recordingBy('test', NOW_MS);
  return { id: commandId as never, type: 'AccountSuspended', data: '{"reason":"x"}', metadata: '{}' };
};

describe('a restart of a sealer', () => {
  it('goes on behind the newest seal, without the events before it', async () => {
    const log = await newLog();
    await write(log, 24);
    const { sealer, dataFolder } = started(log);
    await untilSealed(log, 2);
    await sealer.close();
    const from: unknown[] = [];
    const subscribe = log.subscribeAll.bind(log);
    log.subscribeAll = (options) => {
      from.push(options.after);
      return subscribe(options);
    };
    started(log, { dataFolder });
    await write(log, 10);
    await untilSealed(log, 3);
    expect(sizesOf(await chainOf(log))).toEqual([10, 20, 30]);
    expect(from[0]).toBe(log.events[19]?.position);
  });

  it.each([
    ['is no JSON', () => '{'],
    [
      'has other hashes',
      (text: string) =>
        text.replace(/"peaks":\["./, (start) => `${start.slice(0, -1)}${start.endsWith('0') ? '1' : '0'}`),
    ],
    [
      'is of a log with other positions',
      (text: string) =>
        text.replace(/"sealPosition":\d+/, '"sealPosition":1').replace(/"position":\d+/, '"position":223'),
    ],
    [
      'ends before the last event that is sealed',
      (text: string) => text.replace(/"position":(\d+)/, (_, at) => `"position":${Number(at) - 2}`),
    ],
    ['ends behind it', (text: string) => text.replace(/"position":(\d+)/, (_, at) => `"position":${Number(at) + 2}`)],
    [
      'has another beginning of the seal’s range',
      (text: string) => text.replace(/"after":(\d+)/, (_, at) => `"after":${Number(at) - 1}`),
    ],
  ])('reads the log from its beginning where what the folder has kept %s', async (_, damage) => {
    const log = await newLog();
    await write(log, 24);
    const { sealer, dataFolder } = started(log);
    await untilSealed(log, 2);
    await sealer.close();
    const file = join(dataFolder, 'seal-frontier.json');
    const kept = readFileSync(file, 'utf8');
    writeFileSync(file, damage(kept));
    expect(readFileSync(file, 'utf8')).not.toBe(kept);
    started(log, { dataFolder });
    await write(log, 10);
    await untilSealed(log, 3);
    expect(sizesOf(await chainOf(log))).toEqual([10, 20, 30]);
  });

  it('of another folder, which knows nothing, leaves no gap', async () => {
    const log = await newLog();
    const { key } = keyOfFolder(temporaryFolder());
    await write(log, 24);
    const { sealer } = started(log, { key: () => key });
    await untilSealed(log, 2);
    await sealer.close();
    started(log, { key: () => key, events: 4 });
    await untilSealed(log, 3);
    expect(sizesOf(await chainOf(log))).toEqual([10, 20, 24]);
  });

  it('seals at once what is overdue since before, then nothing before its time, on a log of either kind', async () => {
    const waits = { afterMs: 600_000, clock: () => NOW_MS + 600_000 };
    for (const log of [await newLog(), await newFile()]) {
      const { sealer } = started(log, waits);
      await untilSealed(log, 1);
      await log.append(ACCOUNT, NO_STREAM, [suspended()]);
      await expect.poll(() => sealer.standing().unsealed).toBe(1);
      // Some times as long as the first has waited.
      await setTimeout(4 * SEAL_LIMITS.lookMs);
      await sealer.close();
      expect(sizesOf(await chainOf(log))).toEqual([1]);
    }
  });

  it('leaves what is not due yet for the rest of its time', async () => {
    const log = await newLog();
    const { sealer } = started(log, { afterMs: 600_000, clock: () => NOW_MS + 590_000 });
    await expect.poll(() => sealer.standing().unsealed).toBe(1);
    await setTimeout(4 * SEAL_LIMITS.lookMs);
    await sealer.close();
    expect((await chainOf(log)).seals).toEqual([]);
  });

  it('tries soon again where nothing may be written for good then', async () => {
    const log = await newLog();
    let asked = 0;
    started(log, { afterMs: 600_000, clock: () => NOW_MS + 600_000, mayWrite: () => asked++ > 0 });
    await untilSealed(log, 1);
    expect(asked).toBe(2);
  });

  describe.each(LOGS)('on $kind, of what the newest seal leaves to the next one and stands before it', (given) => {
    const afterMs = 600_000;

    /** A seal of ten events behind fourteen, by a sealer that has ended. */
    async function left() {
      const log = await given.newLog();
      await writeNow(log, 13);
      const { key } = keyOfFolder(temporaryFolder());
      const { sealer, dataFolder } = started(log, { key: () => key, afterMs, clock: Date.now });
      await untilSealed(log, 1);
      await expect.poll(() => sealer.standing().unsealed).toBe(4);
      await sealer.close();
      return { log, key: () => key, dataFolder };
    }

    it.each(['the same folder', 'another folder'])('seals it at once where it is overdue, from %s', async (folder) => {
      const { log, key, dataFolder } = await left();
      const from = folder === 'the same folder' ? { dataFolder } : {};
      started(log, { key, afterMs, clock: () => Date.now() + afterMs, ...from });
      await untilSealed(log, 2);
      expect(sizesOf(await chainOf(log))).toEqual([10, 14]);
    });

    it('leaves it for the rest of its time', async () => {
      const { log, key, dataFolder } = await left();
      const { sealer } = started(log, { key, dataFolder, afterMs, clock: () => Date.now() + afterMs - 60_000 });
      await expect.poll(() => sealer.standing().unsealed).toBe(4);
      await setTimeout(4 * SEAL_LIMITS.lookMs);
      await sealer.close();
      expect(sizesOf(await chainOf(log))).toEqual([10]);
    });
  });

  it('takes nothing for overdue that a seal covers which is still to be read', async () => {
    const log = await newLog();
    await write(log, 9);
    const { key } = keyOfFolder(temporaryFolder());
    const { sealer } = started(log, { key: () => key });
    await untilSealed(log, 1);
    await sealer.close();
    await write(log, 3);
    // Event by event: what the seal covers before it.
    const read = Promise.withResolvers<void>();
    const subscribe = log.subscribeAll.bind(log);
    log.subscribeAll = (options) =>
      subscribe({
        ...options,
        onEvents: async (events) => {
          for (const event of events) await options.onEvents([event]);
          read.resolve();
        },
      });
    const next = started(log, { key: () => key, afterMs: 600_000, clock: () => NOW_MS + 600_000 });
    await read.promise;
    await setTimeout(4 * SEAL_LIMITS.lookMs);
    await next.sealer.close();
    expect(sizesOf(await chainOf(log))).toEqual([10]);
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BASE_FORMS } from '../../../contracts/event-forms.ts';
import type { ProposedEvent } from '../../../contracts/event-log.ts';
import { NO_STREAM } from '../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { SEAL_LIMITS } from '../../../ledger/seals/limits.ts';
import { keyOfFolder } from '../../../ledger/seals/seal-keys.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { chainOf } from '../../fixtures/ledger/seal-chain.ts';
import { untilSealed } from '../../fixtures/ledger/until-sealed.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { ACCOUNT, NOW_MS, newLog, sizesOf, started, write } from './sealer-scene.ts';

/** The same as `newLog` in a file, which hashes where it reads. */
async function newFile() {
  const log = endedLater(await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') }));
  await identifyLedger(log, NOW_MS, recordingBy('test', NOW_MS), BASE_FORMS);
  return log;
}

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
});

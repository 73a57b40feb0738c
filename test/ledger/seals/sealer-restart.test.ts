import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keyOfFolder } from '../../../ledger/seals/seal-keys.ts';
import { chainOf } from '../../fixtures/ledger/seal-chain.ts';
import { untilSealed } from '../../fixtures/ledger/until-sealed.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { newLog, sizesOf, started, write } from './sealer-scene.ts';

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
});

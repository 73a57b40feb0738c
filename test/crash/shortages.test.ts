import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { killStarted } from '../fixtures/processes/child-process.ts';
import { removeFolder } from './audit-run.ts';
import { notPlayable, playScene } from './scenes/play-scene.ts';

const SEED = 20_261_122;
const RUN_MS_MAX = 300_000;

describe.each(['full-disk', 'few-descriptors'] as const)('the scene %s', (name) => {
  const obstacle = notPlayable(name);
  if (obstacle !== null) console.warn(`the scene ${name} is left out: ${obstacle}`);

  it.skipIf(obstacle !== null)(
    'is recovered from without help, and all is billed once',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'gateway-shortage-'));
      onTestFinished(() => {
        killStarted();
        removeFolder(folder);
      });
      const { faults, told } = await playScene(name, { folder, seed: SEED, cases: [], say: () => {} });
      expect(faults, told).toEqual([]);
    },
    RUN_MS_MAX,
  );
});

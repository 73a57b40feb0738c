import { describe, expect, it } from 'vitest';
import { runFolder } from '../fixtures/processes/run-folder.ts';
import { notPlayable, playScene } from './scenes/play-scene.ts';

const SEED = 20_261_122;
const RUN_MS_MAX = 300_000;

describe.each(['full-disk', 'few-descriptors'] as const)('the scene %s', (name) => {
  const obstacle = notPlayable(name);
  if (obstacle !== null) console.warn(`the scene ${name} is left out: ${obstacle}`);

  it.skipIf(obstacle !== null)(
    'is recovered from without help, and all is billed once',
    async () => {
      const { faults, told } = await playScene(name, { folder: runFolder(), seed: SEED, cases: [], say: () => {} });
      expect(faults, told).toEqual([]);
    },
    RUN_MS_MAX,
  );
});

import { defineConfig } from 'vitest/config';
import { LongestFirst } from './longest-first.ts';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/portkey/**', 'node_modules/**'],
    pool: 'forks',
    // Many files wait for processes, sockets and brokers rather than compute.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    // The first also removes what the others' brokers leave: it ends last.
    globalSetup: ['test/temporary-folders.ts', 'test/kafka/shared-broker.ts'],
    // Bounds against what never ends, long against a machine that is busy: no test depends on how fast it runs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 120_000,
    expect: { poll: { interval: 20, timeout: 120_000 } },
  },
});

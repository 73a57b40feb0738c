import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { runsApart, TEST_FILES } from './apart.ts';
import { LongestFirst } from './longest-first.ts';

const ROOT = new URL('..', import.meta.url).pathname;

/** Test files that have a process each, or that share processes. */
function project(name: string, isolate: boolean): TestProjectInlineConfiguration {
  return {
    test: {
      name,
      root: ROOT,
      include: TEST_FILES.filter((file) => runsApart(file) === isolate),
      isolate,
      setupFiles: 'test/properties.ts',
      pool: 'forks',
      // MiB: with the little that Node begins with, a tenth of the time would go to collecting garbage.
      execArgv: ['--min-semi-space-size=16'],
      // Bounds against what never ends, long against a machine that is busy: no test depends on how fast it runs.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      expect: { poll: { interval: 20, timeout: 120_000 } },
    },
  };
}

export default defineConfig({
  test: {
    root: ROOT,
    projects: [project('apart', true), project('shared', false)],
    // Many files wait for processes, sockets and brokers rather than compute.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    // The first also removes what the others' brokers leave: it ends last.
    globalSetup: ['test/temporary-folders.ts', 'test/kafka/shared-broker.ts'],
    teardownTimeout: 120_000,
  },
});

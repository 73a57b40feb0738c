import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/portkey/**', 'node_modules/**'],
    pool: 'forks',
    // Many files wait for processes, sockets and brokers rather than compute.
    maxWorkers: 3,
    globalSetup: ['test/temporary-folders.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startBusyLoops, stopBusyLoops } from './busy-loops.ts';

/**
 * `npm run test:busy`: the suite beside a busy loop on each core. What follows `--` goes to vitest: files, say, or a
 * reporter. It ends as vitest does.
 */
const BOUND_MS = 60 * 60_000;
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const CONFIGURATION = fileURLToPath(new URL('../vitest.config.ts', import.meta.url));

const loops = startBusyLoops(availableParallelism(), BOUND_MS);
try {
  const args = [VITEST, 'run', '--config', CONFIGURATION, ...process.argv.slice(2)];
  const suite = spawn(process.execPath, args, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => suite.kill(signal));
  const [code] = await once(suite, 'exit');
  process.exitCode = typeof code === 'number' ? code : 1;
} finally {
  stopBusyLoops(loops);
}

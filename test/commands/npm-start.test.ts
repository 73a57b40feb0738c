import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

import { stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it.each(['SIGTERM', 'SIGINT'] as const)('%s to `npm start` ends the gateway, in order', async (signal) => {
  const data = join(temporaryFolder(), 'data');
  const npm = spawn('npm', ['start', '--', '--port', '0', '--data', data], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    // A process group of its own, so that nothing of it outlives a test that fails.
    detached: true,
  });
  onTestFinished(() => endGroup(npm));
  let url = '';
  const lines = createInterface({ input: npm.stdout });
  const told: string[] = [];
  for await (const line of lines) {
    told.push(line);
    url = /ready at (\S+)/.exec(line)?.[1] ?? '';
    if (url !== '') break;
  }
  expect(url, told.join('\n')).not.toBe('');
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const closed = once(npm.stdout, 'close');
  npm.stdout.resume();
  expect(await stop(npm, signal)).toBe(0);
  // Whoever still ran would hold it open.
  await closed;
  await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
});

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // Nobody is left, as it should be.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it.each([
  ['SIGTERM', 'npm alone'],
  ['SIGINT', 'npm alone'],
  // Ctrl-C on a terminal: the gateway has it twice, for npm passes its own on.
  ['SIGINT', 'all that it runs'],
] as const)('%s to `npm start`, %s, ends the gateway, in order', async (signal, of) => {
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
  const ended = once(npm, 'exit');
  if (of === 'npm alone') npm.kill(signal);
  else process.kill(-(npm.pid ?? 0), signal);
  expect(await ended).toEqual([0, null]);
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

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { processIdIn, spawnWithItsParent } from './with-its-parent.ts';

const MODULE = fileURLToPath(new URL('with-its-parent.ts', import.meta.url));
/** A process that starts a program so, and passes on what it says. */
const PARENT = `
const { spawnWithItsParent } = await import(${JSON.stringify(MODULE)});
spawnWithItsParent('sleep', '600').stdout.pipe(process.stdout);
`;

async function processIdOf({ stdout }: ChildProcess): Promise<number> {
  if (stdout === null) throw new TypeError('no standard output');
  for await (const line of createInterface({ input: stdout })) return processIdIn(line) ?? 0;
  return 0;
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it('ends with a parent that is killed', async () => {
  const parent = spawn(process.execPath, ['--input-type=module', '-e', PARENT], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = await processIdOf(parent);
  expect([pid > 0, lives(pid)]).toEqual([true, true]);
  parent.kill('SIGKILL');
  await expect.poll(() => lives(pid)).toBe(false);
});

it('ends when its standard input is ended, also where it is stopped', async () => {
  const child = spawnWithItsParent('sleep', '600');
  const ended = once(child, 'exit');
  const pid = await processIdOf(child);
  process.kill(pid, 'SIGSTOP');
  child.stdin?.end();
  await ended;
  await expect.poll(() => lives(pid)).toBe(false);
});

it('is waited for by the shell, which ends with it', async () => {
  const child = spawnWithItsParent('sleep', '600');
  const ended = once(child, 'exit');
  process.kill(await processIdOf(child), 'SIGKILL');
  await ended;
});

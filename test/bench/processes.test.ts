import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { freePort, Processes } from './processes.ts';

const MODULE = new URL('processes.ts', import.meta.url).href;
/** Starts a process that starts one itself, and says which they are; then it does as it is told. */
const PROGRAM = `
  import { Processes } from '${MODULE}';
  const processes = new Processes();
  const shell = processes.spawn('shell', ['sh', '-c', 'sleep 600 & echo $!; wait'], { stdout: 'pipe' });
  shell.stdout.once('data', (line) => {
    console.log(JSON.stringify({ folder: processes.folder, pids: [shell.pid, Number(line)] }));
  });
  process.stdin.once('data', () => { throw new Error('the run fails'); });`;

test.each(['SIGINT', 'SIGTERM', 'failure'] as const)(
  'a run that ends by %s leaves no process and no folder',
  async (how) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
      stdio: ['pipe', 'pipe', how === 'failure' ? 'ignore' : 'inherit'],
    });
    const [line] = await once(createInterface(child.stdout), 'line');
    const { folder, pids } = JSON.parse(String(line));
    expect(pids.map(isRunning)).toEqual([true, true]);
    const closed = once(child, 'close');
    if (how === 'failure') child.stdin.write('fail\n');
    else child.kill(how);
    const [code] = await closed;
    expect(code).toBe(how === 'failure' ? 1 : 130);
    await expect.poll(() => pids.map(isRunning)).toEqual([false, false]);
    expect(existsSync(folder)).toBe(false);
  },
);

test('a program that ends before it listens is told with its log', async () => {
  const processes = new Processes();
  processes.spawn('broken', ['sh', '-c', 'echo no such option >&2; exit 3']);
  await expect(processes.untilListening('broken', await freePort())).rejects.toThrow('no such option');
});

/** A zombie has ended, though nobody has asked how. */
function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
  } catch {
    return false;
  }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { startBusyLoops, stopBusyLoops } from './busy-loops.ts';

const MODULE = new URL('busy-loops.ts', import.meta.url).href;
/** Starts a loop, says so once it is busy, and lives on. */
const STARTER = `
  import { startBusyLoops } from '${MODULE}';
  const [loop] = startBusyLoops(1, 600_000);
  loop.stdout.once('data', () => console.log('started'));`;

test('end when they are stopped, and by themselves when their time is up', async () => {
  const stopped = startBusyLoops(2, 600_000);
  const bounded = startBusyLoops(1, 1);
  const ends = [...stopped, ...bounded].map((loop) => once(loop, 'exit'));
  stopBusyLoops(stopped);
  expect(await Promise.all(ends)).toEqual([
    [null, 'SIGKILL'],
    [null, 'SIGKILL'],
    [0, null],
  ]);
});

test('do not outlive the process that has started them, though it was killed', async () => {
  const starter = spawn(process.execPath, ['--input-type=module', '--eval', STARTER], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await once(createInterface(starter.stdout), 'line');
  starter.kill('SIGKILL');
  // Its standard error is the loop's as well: it closes when both have ended.
  expect(await once(starter, 'close')).toEqual([null, 'SIGKILL']);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { EventLoopDelay } from './event-loop-probe.ts';

const PROBE = fileURLToPath(new URL('event-loop-probe.ts', import.meta.url));
/** Longer than any process waits for its turn on a busy machine. */
const BLOCK_MS = 2_000;
/** Long enough to be told from everything else that the program does, by CPU time. */
const COMPUTE_MS = 300;
/** Blocks its loop once for every line that it reads, and says so. */
const PROGRAM = `
  process.stdin.on('data', (line) => setTimeout(() => {
    const cpuMs = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1_000; };
    if (String(line).startsWith('compute')) {
      for (const end = cpuMs() + ${COMPUTE_MS}; cpuMs() < end; );
      setTimeout(() => console.log('computed'), 5);
      return;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${BLOCK_MS});
    setTimeout(() => console.log('blocked'), 5);
  }, 5));
  console.log('ready');`;

async function probed() {
  const folder = mkdtempSync(join(tmpdir(), 'probe-'));
  const file = join(folder, 'delay.json');
  const child = spawn(process.execPath, ['--import', PROBE, '--eval', PROGRAM], {
    env: { ...process.env, EVENT_LOOP_PROBE_FILE: file },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    const closed = once(child, 'close');
    child.kill();
    await closed;
    rmSync(folder, { recursive: true });
  });
  const lines = createInterface(child.stdout);
  await once(lines, 'line');
  const read = async (): Promise<EventLoopDelay> => {
    const watcher = watch(folder);
    child.kill('SIGUSR2');
    let name: unknown = null;
    while (name !== 'delay.json') name = (await once(watcher, 'change'))[1];
    watcher.close();
    return JSON.parse(readFileSync(file, 'utf8'));
  };
  const block = async () => {
    child.stdin.write('block\n');
    await once(lines, 'line');
  };
  const compute = async () => {
    child.stdin.write('compute\n');
    await once(lines, 'line');
  };
  return { read, block, compute };
}

test('tells how late the event loop was since it was last asked', async () => {
  const { read, block } = await probed();
  await block();
  const blocked = await read();
  expect(blocked.sequence).toBe(1);
  expect(blocked.maxMs).toBeGreaterThan(BLOCK_MS * 0.9);
  expect(blocked.p50Ms).toBeLessThan(BLOCK_MS / 2);
  const rested = await read();
  expect(rested.sequence).toBe(2);
  expect(rested.maxMs).toBeLessThan(BLOCK_MS * 0.9);
});

test('tells the longest turn by what the thread computed, which waiting does not lengthen', async () => {
  const { read, block, compute } = await probed();
  await read();
  await block();
  expect((await read()).turnCpuMaxMs).toBeLessThan(COMPUTE_MS);
  await compute();
  expect((await read()).turnCpuMaxMs).toBeGreaterThanOrEqual(COMPUTE_MS * 0.9);
});

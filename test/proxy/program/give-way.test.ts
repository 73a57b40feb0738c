import { execFileSync } from 'node:child_process';
import { getPriority } from 'node:os';
import { expect, it } from 'vitest';

const MODULE = new URL('../../../proxy/program/give-way.ts', import.meta.url).href;

/** Of each thread of a process that has given way, of which one was there before and one came since. */
const PROGRAM = `
  import { once } from 'node:events';
  import { readdirSync } from 'node:fs';
  import { getPriority } from 'node:os';
  import { Worker } from 'node:worker_threads';
  const { giveWay } = await import(${JSON.stringify(MODULE)});
  const threads = [];
  const start = async () => {
    const thread = new Worker('setInterval(() => undefined, 1_000)', { eval: true });
    threads.push(thread);
    await once(thread, 'online');
  };
  await start();
  giveWay();
  giveWay();
  await start();
  const tasks = readdirSync('/proc/self/task').map(Number);
  process.stdout.write(JSON.stringify(tasks.map((id) => getPriority(id))));
  process.exit();
`;

it.runIf(process.platform === 'linux')('all threads of a process give way, also those that it starts later', () => {
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], { encoding: 'utf8' });
  const priorities: number[] = JSON.parse(printed);
  expect(priorities.length).toBeGreaterThan(2);
  expect(new Set(priorities)).toEqual(new Set([Math.max(10, getPriority())]));
});

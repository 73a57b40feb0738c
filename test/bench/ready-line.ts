import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import type { Processes } from '../fixtures/processes/processes.ts';

export const READY_MS_MAX = 30_000;

/**
 * The first line of JSON that a process writes when it is ready.
 * @throws Error with the end of its log when it ends, or is not ready by then
 */
export async function readyLine<T>(
  child: ChildProcess,
  processes: Processes,
  name: string,
  readyMsMax = READY_MS_MAX,
): Promise<T> {
  if (child.stdout === null) throw new Error(`${name} was started with a pipe for its output`);
  const lines = createInterface(child.stdout);
  const first = await Promise.race([
    once(lines, 'line').then(([line]) => String(line)),
    once(child, 'exit').then(() => null),
    setTimeout(readyMsMax, null, { ref: false }),
  ]);
  if (first === null) throw new Error(`${name} did not start:\n${processes.logTail(name)}`);
  // Whatever else it writes is taken, and is nothing.
  lines.close();
  child.stdout.resume();
  return JSON.parse(first) as T;
}

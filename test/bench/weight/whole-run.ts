import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { endedChildrenCpuUs, peakRssOf } from '../process-usage.ts';

export interface WholeRun {
  readonly seconds: number;
  /** User and system, all threads, from its start to its end. */
  readonly cpuSeconds: number;
}

const LOOK_MS = 50;

/** Runs a program to its end, the only one that ends meanwhile. @throws Error with the end of its log when it fails */
export async function wholeRun(
  processes: Processes,
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<WholeRun & { stdout: string; peakRssBytes: number }> {
  const name = 'whole-run';
  const cpuBefore = endedChildrenCpuUs();
  const startMs = performance.now();
  const child = processes.spawn(name, command, { stdout: 'pipe', environment });
  if (child.stdout === null) throw new Error('it was started with a pipe');
  let peakRssBytes = 0;
  const look = setInterval(() => {
    const { pid, exitCode } = child;
    try {
      if (pid !== undefined && exitCode === null) peakRssBytes = peakRssOf(pid);
    } catch {
      // It has ended since.
    }
  }, LOOK_MS);
  const [[code], stdout] = await Promise.all([once(child, 'exit'), text(child.stdout)]);
  clearInterval(look);
  const seconds = (performance.now() - startMs) / 1000;
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${processes.logTail(name)}`);
  return { seconds, cpuSeconds: (endedChildrenCpuUs() - cpuBefore) / 1_000_000, stdout, peakRssBytes };
}

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { installedProgram } from './installed-program.ts';

/** Lists of cores, as taskset takes them: one core for whoever is measured, the others for load generator and upstream. */
export interface Cores {
  readonly measured: string;
  readonly load: string;
}

/** Null where nothing can be pinned: fewer than two cores, or no taskset (util-linux). */
export const pinnableCores = (): Cores | null =>
  installedProgram('taskset') === null ? null : coresOf(readFileSync('/proc/self/status', 'latin1'));

/** The last of the cores that a process may use, and the others; null where there is but one. */
export function coresOf(status: string): Cores | null {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '';
  const cores = list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  return cores.length < 2 ? null : { measured: String(cores.at(-1)), load: cores.slice(0, -1).join(',') };
}

/** Keeps processes, with all of their threads, on these cores. @throws Error when one of them is gone */
export function pin(pids: readonly number[], cores: string): void {
  for (const pid of pids) execFileSync('taskset', ['-a', '-c', '-p', cores, String(pid)], { stdio: 'pipe' });
}

/** A command that runs on the core of whoever is measured, from its first instruction on. */
export function onMeasuredCore(command: readonly string[]): readonly string[] {
  const cores = pinnableCores();
  return cores === null ? command : ['taskset', '-c', cores.measured, ...command];
}

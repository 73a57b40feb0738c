import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { lowerSession } from './session-share.ts';

/** As `nice` counts it: beside what takes a whole core a tenth of it is left. With the most, 19, a rebuild stands still on a full machine. */
const NICENESS = 10;

/** From here on whatever else runs on the machine comes before this process: its threads, also those to come, have what is left. */
export function giveWay(): void {
  // On Linux a priority is a thread's; elsewhere it is that of the whole process.
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid];
  for (const id of threads)
    try {
      setPriority(id, Math.max(NICENESS, getPriority(id)));
    } catch (error) {
      if (!hasEnded(error)) throw error;
    }
  if (process.platform === 'linux') lowerSession(NICENESS);
}

/** Since it was seen. */
const hasEnded = (error: unknown): boolean =>
  error instanceof Error && 'info' in error && (error.info as { readonly code?: unknown }).code === 'ESRCH';

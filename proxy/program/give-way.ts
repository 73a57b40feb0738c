import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** As `nice` counts it: the most. */
const NICENESS = 19;

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
}

/** Since it was seen. */
const hasEnded = (error: unknown): boolean =>
  error instanceof Error && 'info' in error && (error.info as { readonly code?: unknown }).code === 'ESRCH';

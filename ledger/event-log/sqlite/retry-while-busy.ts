import { isBusy } from './database-fault.ts';
import { SQLITE_LIMITS } from './limits.ts';

const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/**
 * Blocks its thread until nothing else holds what the action needs, at most `busyMs`; then throws what SQLite threw.
 * SQLite's own waiting looks ten times a second and starves beside a process that commits all the time; this one looks
 * about once a millisecond, at random, so that two processes take turns.
 */
export function retryWhileBusy<Result>(action: () => Result, busyMs: number): Result {
  const deadline = performance.now() + busyMs;
  for (;;) {
    try {
      return action();
    } catch (fault) {
      if (!isBusy(fault) || performance.now() >= deadline) throw fault;
      Atomics.wait(never, 0, 0, Math.random() * SQLITE_LIMITS.busyPauseMs);
    }
  }
}

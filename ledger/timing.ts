import { pause } from './pause.ts';

/** What waits, and what is left to chance: arguments, so that a test or a simulator decides how time passes. */
export interface Timing {
  /** Resolves after so many milliseconds, or early when the signal is aborted (pause.ts). */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back after so many milliseconds. */
  later(ms: number, then: () => void): void;
  /** Milliseconds since some moment, by a clock that nobody sets. */
  passedMs(): number;
  /** At least 0, less than 1. */
  random(): number;
}

export const TIMING: Timing = {
  pause,
  later: (ms, then) => void setTimeout(then, ms),
  passedMs: () => performance.now(),
  random: Math.random,
};

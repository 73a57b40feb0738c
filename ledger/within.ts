import { TIMING, type Timing } from './timing.ts';

/**
 * What a promise gives within a time; null when the time is up first, after which its failure is nobody's. Rejects as it
 * does. What it stands for goes on: whoever can end it does.
 */
export async function within<Value>(
  timeMs: number,
  promise: Promise<Value>,
  { pause }: Pick<Timing, 'pause'> = TIMING,
): Promise<Value | null> {
  const done = new AbortController();
  try {
    return await Promise.race([promise, pause(timeMs, done.signal).then(() => null)]);
  } finally {
    done.abort();
  }
}

import { TIMING, type Timing } from './timing.ts';

/** A promise's value in time, else null; a later failure is nobody's, and what it stands for goes on. */
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

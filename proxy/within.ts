import { setTimeout as delay } from 'node:timers/promises';

/** Waits for something, but no longer than so. */
export async function within(ms: number, done: Promise<void>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([done, delay(ms, undefined, { signal: timer.signal }).catch(() => undefined)]);
  timer.abort();
}

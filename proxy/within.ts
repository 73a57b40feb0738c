import { setTimeout as delay } from 'node:timers/promises';

/** Resolves when it is done, or when so much time is over. Rejects as it does. */
export async function within(ms: number, done: Promise<void>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([done, delay(ms, undefined, { signal: timer.signal }).catch(() => undefined)]);
  timer.abort();
}

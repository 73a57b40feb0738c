import { setTimeout as delay } from 'node:timers/promises';

/** Asks a connection to close and waits, for so long at the most; what it says is of no use to anyone any more. */
export async function closeWithin(ms: number, close: () => Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const closed = close().catch(() => undefined);
  await Promise.race([closed, delay(ms, undefined, { signal: stop.signal }).catch(() => undefined)]);
  stop.abort();
}

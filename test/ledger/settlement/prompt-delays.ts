/**
 * Stands in for `node:timers/promises`: time passes at once, in a turn of the event loop, and what was waited for is
 * written down. `vi.mock('node:timers/promises', () => import('./prompt-delays.ts'))`.
 */
export const waitedMs: number[] = [];

export async function setTimeout<T>(
  ms: number,
  value?: T,
  options: { signal?: AbortSignal } = {},
): Promise<T | undefined> {
  waitedMs.push(ms);
  await new Promise((resolve) => setImmediate(resolve));
  options.signal?.throwIfAborted();
  return value;
}

/** Time that passes at once, in a turn of the event loop, and what was waited for is written down: `Timing.delay`. */
export const waitedMs: number[] = [];

export async function promptDelay(ms: number, signal?: AbortSignal): Promise<void> {
  waitedMs.push(ms);
  await new Promise((resolve) => setImmediate(resolve));
  signal?.throwIfAborted();
}

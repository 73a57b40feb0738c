/** Time that passes at once, in a turn of the event loop, and what was waited for is written down: `Timing.pause`. */
export const waitedMs: number[] = [];

export async function promptPause(ms: number): Promise<void> {
  waitedMs.push(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

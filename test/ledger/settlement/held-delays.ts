/**
 * Stands in for `node:timers/promises`: no wait ends by itself, only by its signal or when the test lets all of them
 * pass. `vi.mock('node:timers/promises', () => import('./held-delays.ts'))`.
 */
const held = new Map<() => void, number>();

export function setTimeout<T>(ms: number, value?: T, options: { signal?: AbortSignal } = {}): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const pass = (): void => {
      held.delete(pass);
      resolve(value);
    };
    held.set(pass, ms);
    options.signal?.addEventListener('abort', () => {
      held.delete(pass);
      reject(options.signal?.reason);
    });
  });
}

/** How long each of the waits under way was to be. */
export const heldMs = (): number[] => [...held.values()];

/** Lets the waits pass that were to be at most so long. */
export function passWaits(longestMs = Number.POSITIVE_INFINITY): void {
  for (const [pass, ms] of [...held]) if (ms <= longestMs) pass();
}

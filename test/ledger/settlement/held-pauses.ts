/** No wait ends by itself, only by its signal or when the test lets all of them pass: `Timing.pause`. */
const held = new Map<() => void, number>();

export function heldPause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const pass = (): void => {
      held.delete(pass);
      resolve();
    };
    held.set(pass, ms);
    signal?.addEventListener('abort', pass);
  });
}

/** How long each of the waits under way was to be. */
export const heldMs = (): number[] => [...held.values()];

/** Lets the waits pass that were to be at most so long. */
export function passWaits(longestMs = Number.POSITIVE_INFINITY): void {
  for (const [pass, ms] of [...held]) if (ms <= longestMs) pass();
}

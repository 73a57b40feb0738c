import { vi } from 'vitest';

/**
 * The time of a test: one millisecond of (fake) timers and one turn of the event loop at a time, so that nothing
 * depends on how quick the machine is. Needs `vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })`.
 */
export async function turns(count = 40): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    vi.advanceTimersByTime(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Of the machine's own time, for what is done by other threads. */
const BOUND_MS = 120_000;

/** @throws Error when it does not come true within the bound. */
export async function until(condition: () => boolean): Promise<void> {
  const startedMs = performance.now();
  while (!condition()) {
    if (performance.now() - startedMs > BOUND_MS) throw new Error(`not so after ${BOUND_MS} ms: ${condition}`);
    await turns(1);
  }
}

/** What a promise gives, while time passes. @throws Error when it does not settle within the bound. */
export async function passing<T>(promise: Promise<T>): Promise<T> {
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  promise.then(end, end);
  await until(() => ended);
  return promise;
}

import { setTimeout as delay } from 'node:timers/promises';

const LOOK_MS = 10;

/** Resolves as soon as the condition holds. @throws Error that says what did not come about in time. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = 120_000,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await delay(LOOK_MS);
  }
}

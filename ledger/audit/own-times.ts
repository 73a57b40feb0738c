import { LIMITS } from '../../contracts/limits.ts';

/** What two clocks that write may differ by: each may be off as far as any configuration admits (`clock.skewMs`, `clock.jumpMs`). */
export const CLOCKS_MS = 2 * (LIMITS.viewsAgeMs + LIMITS.viewsAgeMs);

/** What a command's own time and that at which it is recorded may differ by: earlier programs have looked at the clock twice. */
export const COMMAND_MS = 60_000;

/**
 * So long after something was published or ended a request may start that does not know of it: views may be so old without
 * the log, it waits after it has looked, and the clocks differ.
 */
export const KNOWN_LATE_MS = LIMITS.viewsAgeMs + LIMITS.countTokensMs + LIMITS.leaseWaitMs + CLOCKS_MS;

/** Whether one instant (RFC 3339, UTC, to the millisecond) is before another by more than clocks can explain. */
export const isBefore = (one: string, other: string): boolean => isBeforeBy(one, other, CLOCKS_MS);

export const isBeforeBy = (one: string, other: string, byMs: number): boolean =>
  one < other && Date.parse(other) - Date.parse(one) > byMs;

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

/** What `Date.parse` says of an instant as schemas take it (RFC 3339, UTC, to the millisecond), in a quarter of its time. */
export function instantMs(text: string): number {
  const year = 100 * twoDigits(text, 0) + twoDigits(text, 2);
  if (text.length !== INSTANT_CHARS || !(year >= 1_000)) return Date.parse(text);
  const [month, day] = [twoDigits(text, 5), twoDigits(text, 8)];
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  return Date.UTC(year, month - 1, day, hour, minute, second, 10 * twoDigits(text, 20) + text.charCodeAt(22) - ZERO);
}

const INSTANT_CHARS = '2026-11-20T10:00:00.000Z'.length;
const ZERO = 0x30;
const twoDigits = (text: string, at: number): number =>
  10 * (text.charCodeAt(at) - ZERO) + text.charCodeAt(at + 1) - ZERO;

const UUID_TIME_DIGITS = 12;

/** The milliseconds with which a UUIDv7 begins, whether or not it has its hyphens; NaN where it is none. */
export function uuidMs(text: string, from = 0): number {
  let [ms, digits] = [0, 0];
  for (let at = from; digits < UUID_TIME_DIGITS; at++) {
    const code = text.charCodeAt(at);
    if (code === HYPHEN) continue;
    const digit = code <= NINE ? code - ZERO : code - LOWER_A + 10;
    if (!(digit >= 0 && digit < 16)) return Number.NaN;
    ms = 16 * ms + digit;
    digits++;
  }
  return ms;
}

const [HYPHEN, NINE, LOWER_A] = [0x2d, 0x39, 0x61];

import type { CallerUse, Minutely } from './caller-use.ts';

const SECOND_MS = 1_000;

/** `anthropic-ratelimit-<name>-limit`, `-remaining` and `-reset`. */
const NAMES = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const;

/** All of them, for browsers, which show pages no header that is not named. */
export const RATE_LIMIT_HEADERS: readonly string[] = NAMES.flatMap((name) =>
  ['limit', 'remaining', 'reset'].map((field) => `anthropic-ratelimit-${name}-${field}`),
);

/**
 * Names and values in turn: of each limit what a caller has left, by its key or its account, whichever has less. `tokens` is
 * whichever of input and output has less left. The resets are of the wall clock, in whole seconds, rounded up.
 */
export function rateLimitHeaders(key: CallerUse, account: CallerUse, { atMs, nowMs, instants }: HeadersAt): string[] {
  const requests = leftOf(narrower(key, account, 'requests', atMs), 'requests', atMs);
  const input = leftOf(narrower(key, account, 'inputTokens', atMs), 'inputTokens', atMs);
  const output = leftOf(narrower(key, account, 'outputTokens', atMs), 'outputTokens', atMs);
  const headers: string[] = [];
  let name = 0;
  for (const { limit, left, fullInMs } of [requests, output.left < input.left ? output : input, input, output])
    for (const value of [String(limit), String(left), instants.after(nowMs + fullInMs)])
      headers.push(RATE_LIMIT_HEADERS[name++] ?? '', value);
  return headers;
}

interface HeadersAt {
  /** By the clock of the limits. */
  readonly atMs: number;
  /** By the wall's. */
  readonly nowMs: number;
  readonly instants: WholeSeconds;
}

interface Remaining {
  readonly limit: number;
  readonly left: number;
  /** After how long nothing of it is used any more. */
  readonly fullInMs: number;
}

const leftOf = (use: CallerUse, of: Minutely, atMs: number): Remaining => ({
  limit: use.limitOf(of),
  left: use.left(of, atMs),
  fullInMs: use.fullInMs(of, atMs),
});

function narrower(key: CallerUse, account: CallerUse, of: Minutely, atMs: number): CallerUse {
  const more = account.left(of, atMs) - key.left(of, atMs);
  return more < 0 || (more === 0 && account.limitOf(of) < key.limitOf(of)) ? account : key;
}

/** As many seconds are remembered as have resets that lie close together: those of most answers. */
const REMEMBERED_SECONDS = 128;

/** Instants as RFC 3339 in whole seconds. */
export class WholeSeconds {
  readonly #seconds = new Float64Array(REMEMBERED_SECONDS);
  readonly #texts: string[] = Array.from({ length: REMEMBERED_SECONDS }, () => '1970-01-01T00:00:00Z');

  after(ms: number): string {
    const second = Math.ceil(ms / SECOND_MS);
    const at = second % REMEMBERED_SECONDS;
    if (this.#seconds[at] !== second) {
      this.#seconds[at] = second;
      this.#texts[at] = new Date(second * SECOND_MS).toISOString().replace('.000Z', 'Z');
    }
    return this.#texts[at] ?? '';
  }
}

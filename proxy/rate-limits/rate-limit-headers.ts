import type { CallerUse, Minutely } from './caller-use.ts';

const SECOND_MS = 1_000;

/** `anthropic-ratelimit-<name>-limit`, `-remaining` and `-reset`. */
const NAMES = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const;

/** All of them, for browsers, which show pages no header that is not named. */
export const RATE_LIMIT_HEADERS: readonly string[] = NAMES.flatMap((name) =>
  ['limit', 'remaining', 'reset'].map((field) => `anthropic-ratelimit-${name}-${field}`),
);

/** What is left of a limit a minute. */
export interface Left {
  readonly limit: number;
  readonly remaining: number;
  /** After how long nothing of it is used any more. */
  readonly fullInMs: number;
}

/** Of what a caller has left of each limit, by its key and its account: the narrower. */
export function narrowerOf(uses: readonly CallerUse[], of: Minutely, atMs: number): Left {
  let narrowest: Left | null = null;
  for (const use of uses) {
    const remaining = use.left(of, atMs);
    const limit = use.limitOf(of);
    const isNarrower =
      narrowest === null ||
      remaining < narrowest.remaining ||
      (remaining === narrowest.remaining && limit < narrowest.limit);
    if (isNarrower) narrowest = { limit, remaining, fullInMs: use.fullInMs(of, atMs) };
  }
  if (narrowest === null) throw new Error('a caller has a key and an account');
  return narrowest;
}

/**
 * Names and values in turn. `tokens` is whichever of input and output has less left. The resets are of the wall clock, in
 * whole seconds, rounded up.
 */
export function rateLimitHeaders(
  left: Readonly<Record<Minutely, Left>>,
  nowMs: number,
  instants: WholeSeconds,
): string[] {
  const { requests, inputTokens, outputTokens } = left;
  const tokens = outputTokens.remaining < inputTokens.remaining ? outputTokens : inputTokens;
  const values: string[] = [];
  for (const { limit, remaining, fullInMs } of [requests, tokens, inputTokens, outputTokens])
    values.push(String(limit), String(remaining), instants.after(nowMs + fullInMs));
  return RATE_LIMIT_HEADERS.flatMap((name, index) => [name, values[index] ?? '']);
}

/** Instants as RFC 3339 in whole seconds. Most answers of a second say the same one. */
export class WholeSeconds {
  #second = Number.NaN;
  #text = '';

  after(ms: number): string {
    const second = Math.ceil(ms / SECOND_MS);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(second * SECOND_MS).toISOString().replace('.000Z', 'Z');
    }
    return this.#text;
  }
}

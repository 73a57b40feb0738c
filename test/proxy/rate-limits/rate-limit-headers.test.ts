import { expect, it } from 'vitest';
import { CallerUse, type Minutely } from '../../../proxy/rate-limits/caller-use.ts';
import { rateLimitHeaders, WholeSeconds } from '../../../proxy/rate-limits/rate-limit-headers.ts';
import { FEW_LIMITS } from './few-limits.ts';

const LIMITS = { ...FEW_LIMITS, inputTokensPerMinute: 1_000, outputTokensPerMinute: 800 };

/** What the headers of tokens say is left, after so much was taken. */
function left(taken: readonly (readonly [Minutely, number])[]): Record<string, unknown> {
  const use = new CallerUse(LIMITS, 0);
  for (const [of, amount] of taken) use.take(of, amount, 0);
  const headers = rateLimitHeaders(use, use, { atMs: 0, nowMs: 0, instants: new WholeSeconds() });
  const found = headers.flatMap((name, at) =>
    /tokens-(limit|remaining)$/.test(name) ? [[name, headers[at + 1]]] : [],
  );
  return Object.fromEntries(found.map(([name, value]) => [String(name).replace('anthropic-ratelimit-', ''), value]));
}

it('tokens is whichever of input and output has less left', () => {
  const limits = { 'input-tokens-limit': '1000', 'output-tokens-limit': '800' };
  expect(left([['inputTokens', 300]])).toEqual({
    ...limits,
    ...{ 'tokens-limit': '1000', 'tokens-remaining': '700' },
    ...{ 'input-tokens-remaining': '700', 'output-tokens-remaining': '800' },
  });
  expect(left([['inputTokens', 100]])).toEqual({
    ...limits,
    ...{ 'tokens-limit': '800', 'tokens-remaining': '800' },
    ...{ 'input-tokens-remaining': '900', 'output-tokens-remaining': '800' },
  });
});

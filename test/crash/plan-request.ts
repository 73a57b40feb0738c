import type { SeededRandom } from '../fixtures/seeded-random.ts';
import { withCase } from './planned-cases.ts';
import type { PlannedRequest, PlannedTokens } from './planned-request.ts';
import type { RequestCase } from './request-cases.ts';

const ENDINGS = [
  ['complete', 62],
  ['reset', 7],
  ['reset-before-head', 4],
  ['error-event', 7],
  ['silent', 6],
  ['silent-before-head', 3],
  ['status-500', 4],
  ['status-529', 3],
  ['status-400', 4],
] as const;

const OUTPUT_TOKENS_MAX = 900;
/** Some tokens by any estimate. */
const TEXT = 'Hello. Tell me of the river, of the hills behind it, and of the people who live there.';

/**
 * Draws a request, some of them as one of the cases. But in cases that are about just that the upstream keeps to
 * `max_tokens`, and reports no more input than a gateway must expect of any request (2,048 tokens, whatever its bytes),
 * which is what a debit within its hold rests on.
 */
export function planRequest(
  random: SeededRandom,
  id: string,
  model: string,
  cases: readonly RequestCase[] = [],
): PlannedRequest {
  return withCase(plainRequest(random, id, model), random, cases);
}

function plainRequest(random: SeededRandom, id: string, model: string): PlannedRequest {
  const output = random.whole(1, OUTPUT_TOKENS_MAX);
  const ending = random.weighted(ENDINGS);
  const caches = random.chance(0.4);
  const tokens: PlannedTokens = {
    input: random.whole(1, 900),
    output,
    cacheRead: caches ? random.whole(0, 600) : 0,
    cacheWrite5m: caches ? random.whole(0, 300) : 0,
    cacheWrite1h: caches ? random.whole(0, 240) : 0,
  };
  return {
    id,
    model,
    isStream: random.chance(0.65),
    maxTokens: output + random.whole(0, 200),
    asksForFast: random.chance(0.45),
    script: {
      id,
      tokens,
      // With two or more there is a middle to break off in.
      events: random.whole(2, 12),
      delayMs: random.chance(0.6) ? 0 : random.whole(1, 15),
      ending,
      serviceTier: random.chance(0.5) ? 'priority' : 'standard',
    },
    leaveAfterMs: leaveAfterMs(random, ending),
    stopsReadingMs: null,
    case: 'plain',
    isKeepingWord: true,
    betas: [],
    more: {},
  };
}

/** A silent upstream is always left, or the client would wait for ever. */
function leaveAfterMs(random: SeededRandom, ending: string): number | null {
  if (ending.startsWith('silent')) return random.whole(20, 250);
  return random.chance(0.12) ? random.whole(0, 60) : null;
}

/** The request's body. Cache control is asked for where the upstream will report cache writes. */
export function bodyOf({ model, maxTokens, isStream, asksForFast, script, more }: PlannedRequest): string {
  const writesCache = script.tokens.cacheWrite5m + script.tokens.cacheWrite1h > 0;
  const cache = writesCache ? { cache_control: { type: 'ephemeral', ttl: '1h' } } : {};
  return JSON.stringify({
    model,
    max_tokens: maxTokens,
    stream: isStream,
    ...(asksForFast ? { speed: 'fast' } : {}),
    messages: [{ role: 'user', content: [{ type: 'text', text: TEXT, ...cache }] }],
    metadata: { script },
    ...more,
  });
}

import { type Refusal, refusal } from '../../contracts/errors.ts';
import { counted } from '../../contracts/money.ts';
import type { RateLimitSet } from '../../contracts/rate-limits.ts';
import type { Obstacle } from './caller-use.ts';

/** Whose limit is in the way. */
export type LimitOwner = 'account' | 'key';

const WORDS: Readonly<Record<keyof RateLimitSet, string>> = {
  requestsPerMinute: 'requests a minute',
  inputTokensPerMinute: 'input tokens a minute',
  outputTokensPerMinute: 'output tokens a minute',
  concurrentRequests: 'requests at once',
  concurrentStreams: 'streams at once',
  concurrentCounts: 'counts of tokens at once',
};

/** SDKs obey `retry-after`; when another call ends nobody knows, so this is small. */
const ENDING_S = 1;

/** No words that an SDK takes for a subscription's end; some read "try again in N seconds", not the header. */
export function refuseByRate(
  whose: LimitOwner,
  { limit, waitMs }: Obstacle,
  limits: RateLimitSet,
  proxies: number,
): Refusal {
  const seconds = waitMs === 0 ? ENDING_S : Math.max(1, Math.ceil(waitMs / 1_000));
  const here = proxies === 1 ? '' : ` on this one of ${proxies} proxies`;
  const what = `the ${whose}'s limit of ${limits[limit]} ${WORDS[limit]}${here} is reached`;
  const when = waitMs === 0 ? 'there is room when one of them has ended; ' : '';
  return refusal('rate_limited', `${what}: ${when}try again in ${counted(seconds, 'second')}`, seconds);
}

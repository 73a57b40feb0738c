import { expect, it } from 'vitest';
import { CallerUse } from '../../../proxy/rate-limits/caller-use.ts';
import { RateTicket } from '../../../proxy/rate-limits/rate-ticket.ts';

const LIMITS = {
  requestsPerMinute: 60,
  inputTokensPerMinute: 1_000,
  outputTokensPerMinute: 1_000,
  concurrentRequests: 3,
  concurrentStreams: 1,
  concurrentCounts: 1,
};

it('a call takes what it writes to caches as input, and not what it reads there', () => {
  const use = new CallerUse(LIMITS, 0);
  const ticket = new RateTicket(
    { kind: 'message', inputTokens: 50 },
    [use],
    () => 0,
    () => undefined,
  );
  ticket.metered({ input: 100, cacheWrite5m: 20, cacheWrite1h: 3, cacheRead: 500, output: 7 });
  expect([use.left('inputTokens', 0), use.left('outputTokens', 0)]).toEqual([1_000 - 123, 1_000 - 7]);
});

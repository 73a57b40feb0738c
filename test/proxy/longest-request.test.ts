import { expect, test } from 'vitest';
import { LIMITS } from '../../contracts/limits.ts';
import { longestRequestMs, longestSettledMs } from '../../proxy/longest-request.ts';

type Providers = Parameters<typeof longestRequestMs>[0]['providers'];

test('a request lasts at most as long as the slowest provider that answers, behind all that fail slowest, and its drain', () => {
  const providers = {
    lasting: { connectMs: 1, firstByteMs: 10, totalMs: 100_000 },
    failing: { connectMs: 300, firstByteMs: 4_000, totalMs: 5_000 },
  } as unknown as Providers;
  const longestMs = (LIMITS.upstreamAttemptsMax - 1) * 4_300 + 100_000 + 7;
  expect(longestRequestMs({ providers, drainMs: 7 })).toBe(longestMs);
  const leases = { slackMs: 1_000 } as Parameters<typeof longestSettledMs>[0]['leases'];
  expect(longestSettledMs({ providers, drainMs: 7, leases })).toBe(longestMs + 500);
  expect(longestRequestMs({ providers: {}, drainMs: 7 })).toBe(7);
});

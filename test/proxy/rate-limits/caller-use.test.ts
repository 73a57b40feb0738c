import { expect, it } from 'vitest';
import { CallerUse } from '../../../proxy/rate-limits/caller-use.ts';

const LIMITS = {
  requestsPerMinute: 60,
  inputTokensPerMinute: 600,
  outputTokensPerMinute: 600,
  concurrentRequests: 3,
  concurrentStreams: 1,
  concurrentCounts: 1,
};
const NOW_MS = 5_000_000;
const message = (inputTokens = 0) => ({ kind: 'message', inputTokens }) as const;
const STREAM = { kind: 'stream', inputTokens: 0 } as const;
const COUNT = { kind: 'count', inputTokens: 0 } as const;

it('names the limit that is in the way for longest: after that none is', () => {
  const use = new CallerUse({ ...LIMITS, concurrentRequests: 100 }, NOW_MS);
  for (let count = 0; count < 60; count++) use.begin(message(), NOW_MS);
  expect(use.obstacle(message(), NOW_MS)).toEqual({ limit: 'requestsPerMinute', waitMs: 1_000 });
  use.take('outputTokens', 900, NOW_MS);
  const obstacle = use.obstacle(message(), NOW_MS);
  expect(obstacle).toEqual({ limit: 'outputTokensPerMinute', waitMs: 30_100 });
  // A count takes no tokens, and waits for none.
  expect(use.obstacle(COUNT, NOW_MS)).toEqual({ limit: 'requestsPerMinute', waitMs: 1_000 });
  use.take('inputTokens', 600, NOW_MS);
  expect(use.obstacle(message(500), NOW_MS)).toEqual({ limit: 'inputTokensPerMinute', waitMs: 50_000 });
  expect(use.obstacle(message(300), NOW_MS + 30_100)).toBeNull();
});

it('has places of their own for streams and counts, and streams are requests, too', () => {
  const use = new CallerUse(LIMITS, NOW_MS);
  use.begin(STREAM, NOW_MS);
  expect(use.obstacle(STREAM, NOW_MS)).toEqual({ limit: 'concurrentStreams', waitMs: 0 });
  use.begin(COUNT, NOW_MS);
  expect(use.obstacle(COUNT, NOW_MS)).toEqual({ limit: 'concurrentCounts', waitMs: 0 });
  for (const _ of [2, 3]) {
    expect(use.obstacle(message(), NOW_MS)).toBeNull();
    use.begin(message(), NOW_MS);
  }
  for (const call of [message(), STREAM])
    expect(use.obstacle(call, NOW_MS)).toEqual({ limit: 'concurrentRequests', waitMs: 0 });
  use.end('message');
  expect(use.obstacle(message(), NOW_MS)).toBeNull();
  use.end('count');
  expect(use.obstacle(COUNT, NOW_MS)).toBeNull();
});

it('ends nothing that has not begun', () => {
  expect(() => new CallerUse(LIMITS, NOW_MS).end('count')).toThrow('was not under way');
});

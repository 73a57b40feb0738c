import { expect, it } from 'vitest';
import { CallerUse } from '../../../proxy/rate-limits/caller-use.ts';
import { FEW_LIMITS } from './few-limits.ts';

const NOW_MS = 5_000_000;
const asked = (inputTokens = 0, isStream = false) => ({ isStream, inputTokens });

it('names the limit that is in the way for longest: after that none is', () => {
  const use = new CallerUse({ ...FEW_LIMITS, concurrentRequests: 0, concurrentCounts: 0 }, NOW_MS);
  use.take('requests', 60, NOW_MS);
  for (const kind of ['message', 'count'] as const)
    expect(use.obstacleToEnter(kind, NOW_MS)).toEqual({ limit: 'requestsPerMinute', waitMs: 1_000 });
  expect(use.nextRequestMs(NOW_MS)).toBe(1_000);
  expect(use.obstacleToAsk(asked(), NOW_MS)).toBeNull();
  use.take('outputTokens', 900, NOW_MS);
  expect(use.obstacleToAsk(asked(), NOW_MS)).toEqual({ limit: 'outputTokensPerMinute', waitMs: 30_100 });
  use.take('inputTokens', 600, NOW_MS);
  expect(use.obstacleToAsk(asked(500), NOW_MS)).toEqual({ limit: 'inputTokensPerMinute', waitMs: 50_000 });
  expect(use.obstacleToAsk(asked(300), NOW_MS + 30_100)).toBeNull();
  // Tokens are no matter before it is known what is asked.
  expect(use.obstacleToEnter('message', NOW_MS + 1_000)).toEqual({ limit: 'concurrentRequests', waitMs: 0 });
});

it('has places of their own for streams and counts, and streams are requests, too', () => {
  const use = new CallerUse(FEW_LIMITS, NOW_MS);
  use.begin('stream');
  expect(use.obstacleToAsk(asked(0, true), NOW_MS)).toEqual({ limit: 'concurrentStreams', waitMs: 0 });
  expect(use.obstacleToAsk(asked(), NOW_MS)).toBeNull();
  use.begin('count');
  for (const obstacle of [use.obstacleToEnter('count', NOW_MS), use.obstacleToCount()])
    expect(obstacle).toEqual({ limit: 'concurrentCounts', waitMs: 0 });
  for (const _ of [2, 3]) {
    expect(use.obstacleToEnter('message', NOW_MS)).toBeNull();
    use.begin('message');
  }
  expect(use.obstacleToEnter('message', NOW_MS)).toEqual({ limit: 'concurrentRequests', waitMs: 0 });
  use.end('message');
  expect(use.obstacleToEnter('message', NOW_MS)).toBeNull();
  use.end('count');
  expect(use.obstacleToCount()).toBeNull();
});

it('ends nothing that has not begun', () => {
  expect(() => new CallerUse(FEW_LIMITS, NOW_MS).end('count')).toThrow('was not under way');
});

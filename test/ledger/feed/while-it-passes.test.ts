import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FEED_LIMITS } from '../../../ledger/feed/limits.ts';
import { whileItPasses } from '../../../ledger/feed/while-it-passes.ts';

const fault = (type: string): Error => new Error('no more tries', { cause: Object.assign(new Error(type), { type }) });

describe('asking while a fault passes', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each(['LEADER_NOT_AVAILABLE', 'GROUP_COORDINATOR_NOT_AVAILABLE', 'UNKNOWN_TOPIC_OR_PARTITION'])(
    'asks again after %s',
    async (type) => {
      let asked = 0;
      const answer = whileItPasses(async () => {
        if (++asked < 4) throw fault(type);
        return 'there';
      });
      await vi.advanceTimersByTimeAsync(FEED_LIMITS.passingPauseMs * 3);
      expect(await answer).toBe('there');
      expect(asked).toBe(4);
    },
  );

  it('throws another fault at once', async () => {
    let asked = 0;
    const answer = whileItPasses(async () => {
      asked++;
      throw fault('GROUP_AUTHORIZATION_FAILED');
    });
    await expect(answer).rejects.toThrow('no more tries');
    expect(asked).toBe(1);
  });

  it('gives up when the fault stays', async () => {
    let asked = 0;
    const answer = whileItPasses(async () => {
      asked++;
      throw fault('LEADER_NOT_AVAILABLE');
    });
    const told = expect(answer).rejects.toThrow('no more tries');
    await vi.advanceTimersByTimeAsync(FEED_LIMITS.passingMs);
    await told;
    expect(asked).toBe(1 + FEED_LIMITS.passingMs / FEED_LIMITS.passingPauseMs);
  });

  it('gives up when it is told to stop', async () => {
    const stop = new AbortController();
    let asked = 0;
    const answer = whileItPasses(async () => {
      asked++;
      throw fault('LEADER_NOT_AVAILABLE');
    }, stop.signal);
    const told = expect(answer).rejects.toThrow('no more tries');
    await vi.advanceTimersByTimeAsync(FEED_LIMITS.passingPauseMs);
    stop.abort();
    await told;
    expect(asked).toBe(3);
  });
});

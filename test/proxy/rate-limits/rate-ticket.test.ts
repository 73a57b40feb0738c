import { expect, it } from 'vitest';
import type { Caller } from '../../../proxy/caller.ts';
import { CallerUse } from '../../../proxy/rate-limits/caller-use.ts';
import { RateTicket } from '../../../proxy/rate-limits/rate-ticket.ts';
import { FEW_LIMITS } from './few-limits.ts';

const NOW_MS = 5_000_000;
const TOKENS = { input: 50, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 7 };

function entered(kind: 'message' | 'count' = 'message') {
  const uses = [new CallerUse(FEW_LIMITS, NOW_MS), new CallerUse(FEW_LIMITS, NOW_MS)] as const;
  const underWay = { message: 0, stream: 0, count: 0 };
  const ticket = new RateTicket(kind, { caller: {} as Caller, uses, monotonic: () => NOW_MS, underWay });
  const left = () =>
    uses.map((use) => (['requests', 'inputTokens', 'outputTokens'] as const).map((of) => use.left(of, NOW_MS)));
  return { ticket, uses, underWay, left };
}

it('keeps the request that it has taken, and gives back the tokens, where it ends without having been metered', () => {
  const { ticket, underWay, left } = entered();
  expect([underWay, left()]).toEqual([{ message: 1, stream: 0, count: 0 }, Array(2).fill([59, 600, 600])]);
  ticket.asked({ isStream: true, inputTokens: 100 });
  expect([underWay, left()]).toEqual([{ message: 0, stream: 1, count: 0 }, Array(2).fill([59, 500, 600])]);
  ticket.end();
  ticket.end();
  expect([underWay, left()]).toEqual([{ message: 0, stream: 0, count: 0 }, Array(2).fill([59, 600, 600])]);
});

it('has at its end what was metered', () => {
  const { ticket, left } = entered();
  ticket.asked({ isStream: false, inputTokens: 100 });
  ticket.metered(TOKENS);
  ticket.end();
  expect(left()).toEqual(Array(2).fill([59, 550, 593]));
});

it('is as though it had never been where the gateway turns everybody away', () => {
  const { ticket, underWay, left } = entered('count');
  ticket.turnedAway();
  ticket.turnedAway();
  expect([underWay, left()]).toEqual([{ message: 0, stream: 0, count: 0 }, Array(2).fill([60, 600, 600])]);
});

it('has a count under way beside its message', () => {
  const { ticket, uses, underWay } = entered();
  const end = ticket.beginCount();
  expect(underWay).toEqual({ message: 1, stream: 0, count: 1 });
  expect(uses.map((use) => use.obstacleToCount()?.limit)).toEqual(Array(2).fill('concurrentCounts'));
  end();
  ticket.end();
  expect(underWay).toEqual({ message: 0, stream: 0, count: 0 });
});

it('takes what it writes to caches as input, and not what it reads there', () => {
  const { ticket, left } = entered();
  ticket.asked({ isStream: false, inputTokens: 50 });
  ticket.metered({ input: 100, cacheWrite5m: 20, cacheWrite1h: 3, cacheRead: 500, output: 7 });
  expect(left()).toEqual(Array(2).fill([59, 600 - 123, 600 - 7]));
});

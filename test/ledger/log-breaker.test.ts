import { expect, test } from 'vitest';
import { accountId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { LogBreaker } from '../../ledger/log-breaker.ts';

const one = {};
const other = {};

test('one alone probes while the log is away, and nobody while it is there', () => {
  const breaker = new LogBreaker(() => 7);
  expect(breaker.mayProbe(one)).toBe(false);
  breaker.failed(new Error('no answer'));
  expect([breaker.mayProbe(one), breaker.mayProbe(other), breaker.mayProbe(one)]).toEqual([true, false, true]);
});

test('whoever fails next after a probe in vain takes over', () => {
  const breaker = new LogBreaker(() => 7);
  breaker.failed(new Error('no answer'));
  breaker.mayProbe(one);
  breaker.endProbe(other);
  expect(breaker.mayProbe(other)).toBe(false);
  breaker.endProbe(one);
  expect([breaker.mayProbe(other), breaker.mayProbe(one)]).toEqual([true, false]);
});

test('accounts take turns to try: one that tries again and again in vain takes none of the others', () => {
  let nowMs = 1_000_000;
  const breaker = new LogBreaker(() => nowMs);
  const [hog, meek] = [accountId('acct_hog'), accountId('acct_meek')];
  expect([breaker.mayTry(hog), breaker.mayTry(hog)]).toEqual([true, true]);
  breaker.failed(new Error('access denied'));
  const told: string[] = [];
  for (let elapsed = 0; elapsed < 2 * LIMITS.settlementBackoffMaxMs; elapsed += 10) {
    nowMs += 10;
    // Its lane fails all the time, too.
    breaker.failed(new Error('access denied'));
    for (const who of [hog, hog, meek]) if (breaker.mayTry(who)) told.push(who);
  }
  expect(told.slice(0, 4)).toEqual([hog, meek, hog, meek]);
  expect(told).toHaveLength(4);
});

test('it is open since the first failure, until it answers, and told so', () => {
  let nowMs = 7;
  const breaker = new LogBreaker(() => nowMs);
  const told: unknown[] = [];
  breaker.onFailed((_error, isNews) => told.push(isNews));
  breaker.onAnswered((wasAway) => told.push(wasAway ? 'back' : 'there'));
  breaker.failed(new Error('no answer'));
  nowMs = 9;
  breaker.failed(new Error('no answer'));
  expect([breaker.openSinceMs, breaker.isAway]).toEqual([7, true]);
  breaker.answered();
  breaker.answered();
  expect([breaker.isOpen, told]).toEqual([false, [true, false, 'back', 'there']]);
});

test('one that is given up is away for good, without a word to those who would tell it', () => {
  const breaker = new LogBreaker(() => 7);
  breaker.onFailed(() => expect.unreachable());
  breaker.onAnswered(() => expect.unreachable());
  breaker.giveUp();
  breaker.answered();
  breaker.failed(new Error('no answer'));
  expect(breaker.isAway).toBe(true);
});

test('a log that cannot be read is away, though appends go on', () => {
  let isRead = true;
  const breaker = new LogBreaker(
    () => 7,
    () => isRead,
  );
  expect(breaker.isAway).toBe(false);
  isRead = false;
  expect([breaker.isAway, breaker.isOpen]).toEqual([true, false]);
});

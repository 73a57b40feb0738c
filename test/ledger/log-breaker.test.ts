import { expect, test, vi } from 'vitest';
import { type AccountId, accountId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { LogBreaker } from '../../ledger/log-breaker.ts';
import { inTurns } from '../fixtures/ledger/turns.ts';

inTurns();

const one = {};
const other = {};
const AWAY = new Error('no answer');
const [hog, meek] = [accountId('acct_hog'), accountId('acct_meek')];

const newBreaker = (isRead = true) => new LogBreaker({ clock: () => 7, isRead });

/** What they are told, in order, by name. */
function asking(breaker: LogBreaker) {
  const told: string[] = [];
  const ask = (who: AccountId): void => void breaker.mayAppend(who).then((may) => told.push(`${who} ${may}`));
  const after = async (ms: number): Promise<string[]> => {
    await vi.advanceTimersByTimeAsync(ms);
    return told.splice(0);
  };
  return { ask, after };
}

test('of those who wait one alone tries often while the log is away, and nobody while it is there', () => {
  const breaker = newBreaker();
  expect(breaker.waits(one)).toBe(false);
  breaker.failed(AWAY);
  expect([breaker.waits(one), breaker.waits(other), breaker.waits(one)]).toEqual([true, false, true]);
});

test('whoever fails next after a try in vain takes over', () => {
  const breaker = newBreaker();
  breaker.failed(AWAY);
  breaker.waits(one);
  breaker.tries(other);
  expect(breaker.waits(other)).toBe(false);
  breaker.tries(one);
  expect([breaker.waits(other), breaker.waits(one)]).toEqual([true, false]);
});

test('whoever asks gets a turn, and the next one a while later who has not had one for the longest', async () => {
  const breaker = newBreaker();
  const { ask, after } = asking(breaker);
  ask(hog);
  ask(hog);
  expect(await after(0)).toEqual([`${hog} true`, `${hog} true`]);
  breaker.failed(AWAY);
  await after(LIMITS.settlementProbeMs);
  ask(hog);
  expect(await after(0)).toEqual([`${hog} true`]);
  for (const who of [hog, hog, meek]) ask(who);
  expect(await after(LIMITS.settlementProbeMs - 1)).toEqual([]);
  expect(await after(1)).toEqual([`${meek} true`]);
  expect(await after(LIMITS.settlementProbeMs)).toEqual([`${hog} true`]);
});

test('who gets no turn is told soon that the log is away, and that it is back once it is', async () => {
  const breaker = newBreaker();
  const { ask, after } = asking(breaker);
  breaker.failed(AWAY);
  const asked = Array.from({ length: 9 }, (_, number) => accountId(`acct_${number}`));
  for (const who of asked) ask(who);
  const told = await after(LIMITS.logVerdictMs);
  expect(told.filter((words) => words.endsWith('false'))).toHaveLength(asked.length - 2);
  ask(hog);
  ask(meek);
  breaker.appended();
  expect(await after(0)).toEqual([`${hog} true`, `${meek} true`]);
});

test('it is open since the first failure, until an append is taken, and told so', () => {
  let nowMs = 7;
  const breaker = new LogBreaker({ clock: () => nowMs });
  const told: unknown[] = [];
  breaker.onFailed((_error, isNews) => told.push(isNews));
  breaker.onSignOfLife((isClosed) => told.push(isClosed ? 'back' : 'read'));
  breaker.failed(AWAY);
  nowMs = 9;
  breaker.failed(AWAY);
  expect([breaker.awaySinceMs, breaker.isAway]).toEqual([7, true]);
  breaker.appended();
  breaker.appended();
  expect([breaker.isOpen, told]).toEqual([false, [true, false, 'back']]);
});

test('a round that has failed while others were taken is a trouble of its own', () => {
  const breaker = newBreaker();
  const { taken } = breaker;
  breaker.appended();
  expect([breaker.failed(AWAY, taken), breaker.isOpen]).toEqual([false, false]);
  expect([breaker.failed(AWAY, breaker.taken), breaker.isOpen]).toEqual([true, true]);
});

test('what began before it was found to be back, and fails only now, does not open it again', () => {
  const breaker = newBreaker();
  breaker.failed(AWAY);
  const { taken } = breaker;
  breaker.probed();
  expect([breaker.failed(AWAY, taken), breaker.isOpen, breaker.wantsProbe]).toEqual([false, false, false]);
});

test('a probe closes it where nobody waits; otherwise it ends the waits, and appends say whether it is back', () => {
  const breaker = newBreaker();
  expect(breaker.wantsProbe).toBe(false);
  const told: boolean[] = [];
  breaker.onSignOfLife((isClosed) => told.push(isClosed));
  breaker.failed(AWAY);
  expect(breaker.wantsProbe).toBe(true);
  breaker.waits(one);
  expect(breaker.wantsProbe).toBe(false);
  breaker.probed();
  expect([breaker.isOpen, told]).toEqual([true, [false]]);
  breaker.appended();
  breaker.failed(AWAY);
  expect([breaker.wantsProbe, told.splice(1)]).toEqual([true, [true]]);
  breaker.waits(one);
  breaker.waitsNoMore(one);
  expect(breaker.wantsProbe).toBe(true);
  breaker.probed();
  expect([breaker.isOpen, told]).toEqual([false, [false, true]]);
});

test('a probe that was answered, and appends fail all the same, is not believed before one is taken', () => {
  const breaker = newBreaker();
  breaker.failed(AWAY);
  breaker.probed();
  breaker.failed(AWAY);
  expect([breaker.isOpen, breaker.wantsProbe]).toEqual([true, false]);
  breaker.appended();
  breaker.failed(AWAY);
  expect(breaker.wantsProbe).toBe(true);
});

test('one that is given up is away for good, without a word to those who would tell it', async () => {
  const breaker = newBreaker();
  breaker.onFailed(() => expect.unreachable());
  breaker.onSignOfLife(() => expect.unreachable());
  breaker.giveUp();
  breaker.appended();
  breaker.failed(AWAY);
  expect([breaker.isAway, breaker.wantsProbe, await breaker.mayAppend(meek)]).toEqual([true, false, false]);
});

test('a log that cannot be read is away, though appends go on; reads that come back say nothing of appends', () => {
  const breaker = newBreaker(false);
  const told: boolean[] = [];
  breaker.onSignOfLife((isClosed) => told.push(isClosed));
  expect([breaker.isAway, breaker.isOpen]).toEqual([true, false]);
  breaker.readsBack();
  breaker.readsBack();
  expect([breaker.isAway, told]).toEqual([false, [false]]);
  breaker.failed(AWAY);
  breaker.readsLost();
  breaker.readsBack();
  expect([breaker.isAway, breaker.awaySinceMs, told]).toEqual([true, 7, [false, false]]);
});

test('it has been away since the first of reads and appends failed that do so still', () => {
  let nowMs = 0;
  const breaker = new LogBreaker({ clock: () => ++nowMs });
  expect(breaker.awaySinceMs).toBeNull();
  breaker.readsLost();
  breaker.failed(AWAY);
  breaker.readsLost();
  breaker.failed(AWAY);
  expect(breaker.awaySinceMs).toBe(1);
  breaker.readsBack();
  expect(breaker.awaySinceMs).toBe(2);
  breaker.readsLost();
  expect(breaker.awaySinceMs).toBe(2);
  breaker.appended();
  expect(breaker.awaySinceMs).toBe(3);
  breaker.readsBack();
  expect([breaker.awaySinceMs, breaker.isAway]).toEqual([null, false]);
});

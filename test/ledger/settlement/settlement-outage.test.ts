import { afterEach, describe, expect, test } from 'vitest';
import { accountStream } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { LogProbe } from '../../../ledger/log-probe.ts';
import { requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import { heldMs, heldPause, passWaits } from '../../fixtures/ledger/held-pauses.ts';
import {
  account,
  billed,
  foldInto,
  heldScene,
  once,
  recordedElsewhere,
  type SettlementScene,
  submit,
  usages,
} from '../../fixtures/ledger/settlement-scene.ts';
import { inTurns, turns, until } from '../../fixtures/ledger/turns.ts';

inTurns();
afterEach(() => {
  passWaits();
});

/** So many accounts, each with a request that the log refuses until it has been told away. */
async function untilAway(accounts: number): Promise<SettlementScene> {
  const scene = await heldScene(accounts);
  scene.log.faults = () => ({ type: 'refuse' });
  for (let number = 0; number < accounts; number++) submit(scene, account(number), usageOf(1 + number, 1));
  for (let attempt = 1; attempt < LIMITS.settlementAttemptsMax; attempt++) {
    await turns();
    expect(heldMs()).toHaveLength(accounts);
    passWaits();
  }
  // Not `until`: where they never are away, all the tests that begin with it would wait for it.
  await turns();
  expect([scene.away.length, heldMs().length]).toEqual([accounts, accounts]);
  return scene;
}

const isFailing = (stream: string, others: number): boolean =>
  Array.from({ length: others }, (_, number) => accountStream(account(number))).some((one) => one === stream);

describe('accounts whose appends fail', () => {
  test('wait without a place among the appends, and hold up nobody', async () => {
    const failing = LIMITS.settlementAppendsMax;
    const scene = await heldScene(failing + 1);
    scene.log.faults = (stream) => (isFailing(stream, failing) ? { type: 'refuse' } : { type: 'none' });
    for (let number = 0; number < failing; number++) submit(scene, account(number), usageOf(1 + number, 1));
    await until(() => heldMs().length === failing);
    submit(scene, account(failing), usageOf(1_000, 1));
    await until(() => scene.settled.length === 1);
    expect(scene.settled).toEqual([requestOf(1_000)]);
    expect(heldMs()).toHaveLength(failing);
    scene.settlement.close();
  });

  test('while others are taken have a trouble of their own, which is told once: the log is there', async () => {
    const scene = await heldScene(2);
    scene.log.faults = (stream) => (isFailing(stream, 1) ? { type: 'refuse' } : { type: 'none' });
    submit(scene, account(0), usageOf(1, 1));
    for (let tries = 1; tries <= 2 * LIMITS.settlementAttemptsMax; tries++) {
      await until(() => scene.log.appends === 2 * tries - 1 && heldMs().length === 1);
      submit(scene, account(1), usageOf(100 + tries, 1));
      await until(() => scene.settled.length === tries);
      passWaits();
    }
    expect([scene.ownTroubles, scene.away, scene.back()]).toEqual([[account(0)], [], 0]);
    // It waits its longest after a round, and nobody takes its tries for a look whether the log is back.
    await until(() => heldMs().length === 1);
    scene.breaker.failed(new Error('no lease could be had'));
    const { appends } = scene.log;
    passWaits();
    await until(() => scene.log.appends > appends && heldMs().length === 1);
    expect([scene.breaker.isOpen, scene.breaker.wantsProbe]).toEqual([true, true]);
    scene.log.faults = () => ({ type: 'none' });
    passWaits();
    await until(() => scene.settlement.pending === 0);
  });

  test('so slowly that it takes long are told as away after fewer tries', async () => {
    const scene = await heldScene(1);
    scene.log.faults = () => {
      scene.nowMs += LIMITS.settlementRoundMs / 2;
      return { type: 'drop' };
    };
    submit(scene, account(0), usageOf(1, 1));
    await until(() => heldMs().length === 1);
    expect(scene.breaker.isOpen).toBe(false);
    passWaits();
    await until(() => scene.breaker.isOpen);
    expect(scene.log.appends).toBe(2);
    scene.settlement.close();
  });

  test('are one queue each: what finishes meanwhile waits with the others, in order', async () => {
    const scene = await heldScene(1);
    scene.log.faults = () => ({ type: 'refuse' });
    submit(scene, account(0), usageOf(1, 1));
    await until(() => heldMs().length === 1);
    submit(scene, account(0), ...usages(2, LIMITS.settlementGroupMax + 1));
    await turns();
    expect(scene.log.appends).toBe(1);
    scene.log.faults = () => ({ type: 'none' });
    passWaits();
    await until(() => scene.settlement.pending === 0);
    expect(scene.settled).toEqual(
      Array.from({ length: LIMITS.settlementGroupMax + 2 }, (_, index) => requestOf(1 + index)),
    );
  });
});

describe('a log that is back', () => {
  test('is told by its subscriber, and every account goes at once', async () => {
    const scene = await untilAway(5);
    scene.breaker.readsLost();
    scene.log.faults = () => ({ type: 'none' });
    const appends = scene.log.appends;
    await turns();
    expect(scene.log.appends).toBe(appends);
    scene.breaker.readsBack();
    await until(() => scene.settlement.pending === 0);
    expect(heldMs()).toEqual([]);
    expect(billed(scene)).toEqual(once(Array.from({ length: 5 }, (_, number) => usageOf(1 + number, 1))));
    expect(scene.back()).toBe(1);
  });

  test('for its reads alone is away for appends on, which all try at once', async () => {
    const scene = await untilAway(5);
    const { appends } = scene.log;
    const since = scene.breaker.awaySinceMs;
    scene.breaker.readsLost();
    scene.breaker.readsBack();
    await until(() => scene.log.appends === appends + 5 && heldMs().length === 5);
    expect([scene.breaker.awaySinceMs, scene.back()]).toEqual([since, 0]);
    scene.settlement.close();
  });

  test('for its reads alone, again and again, is told as away after as many tries as ever', async () => {
    const scene = await heldScene(1);
    scene.log.faults = () => ({ type: 'refuse' });
    submit(scene, account(0), usageOf(1, 1));
    for (let failures = 1; failures < LIMITS.settlementAttemptsMax; failures++) {
      await until(() => scene.log.appends === failures && heldMs().length === 1);
      expect(scene.breaker.isOpen).toBe(false);
      scene.breaker.readsLost();
      scene.breaker.readsBack();
    }
    await turns();
    expect([scene.breaker.isOpen, scene.log.appends]).toEqual([true, LIMITS.settlementAttemptsMax]);
    scene.settlement.close();
  });

  test('is found by the account that looks for it often, and then wakes all the others', async () => {
    const scene = await untilAway(5);
    const waits = heldMs().toSorted((left, right) => left - right);
    expect(waits).toEqual([LIMITS.settlementProbeMs, ...Array(4).fill(LIMITS.settlementBackoffMaxMs)]);
    passWaits(LIMITS.settlementProbeMs);
    await turns();
    // In vain: somebody looks again as soon.
    expect(Math.min(...heldMs())).toBeLessThanOrEqual(LIMITS.settlementProbeMs);
    expect([heldMs().length, scene.back()]).toEqual([5, 0]);
    scene.log.faults = () => ({ type: 'none' });
    passWaits(LIMITS.settlementProbeMs);
    await until(() => scene.settlement.pending === 0);
    expect([heldMs(), scene.back()]).toEqual([[], 1]);
  });

  test('is found where the feed has brought what waited: it was written, and its answer lost', async () => {
    const scene = await untilAway(1);
    new LogProbe({ log: scene.log, breaker: scene.breaker, timing: { pause: heldPause } });
    scene.breaker.failed(new Error('still away'));
    expect(heldMs()).toHaveLength(2);
    scene.log.faults = () => ({ type: 'none' });
    const before = scene.log.events.length;
    recordedElsewhere(scene, account(0), usageOf(1, 1));
    for (const recorded of scene.log.events.slice(before)) foldInto(scene.repository, recorded);
    expect([scene.settlement.pending, scene.back()]).toEqual([0, 0]);
    const { length } = scene.log.events;
    passWaits();
    await until(() => heldMs().length === 1);
    expect(scene.breaker.isAway).toBe(true);
    // Nobody waits any more: it is asked.
    passWaits();
    await until(() => !scene.breaker.isAway);
    expect([scene.back(), scene.log.events.length]).toEqual([1, length]);
  });

  test('is told once, and its being away again when it is', async () => {
    const scene = await untilAway(1);
    scene.log.faults = () => ({ type: 'none' });
    scene.breaker.appended();
    scene.breaker.appended();
    await until(() => scene.settlement.pending === 0);
    expect([scene.back(), scene.away.length]).toEqual([1, 1]);
  });

  test('gives an append that fails just then a short wait, not the longest', async () => {
    const scene = await heldScene(2);
    scene.log.faults = () => ({ type: 'refuse' });
    for (const number of [0, 1]) submit(scene, account(number), usageOf(1 + number, 1));
    for (let failures = 1; failures < LIMITS.settlementAttemptsMax - 1; failures++) {
      await until(() => heldMs().length === 2);
      passWaits();
      await turns();
    }
    expect(Math.min(...heldMs())).toBeGreaterThan(LIMITS.settlementBackoffMs);
    const appends = scene.log.appends;
    scene.breaker.failed(new Error('no lease could be had'));
    scene.breaker.appended();
    await until(() => scene.log.appends === appends + 2 && heldMs().length === 2);
    expect(Math.max(...heldMs())).toBeLessThanOrEqual(LIMITS.settlementBackoffMs);
    scene.settlement.close();
  });
});

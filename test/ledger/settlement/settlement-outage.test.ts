import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { accountStream } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { CARD, requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import { heldMs, passWaits } from '../../fixtures/ledger/held-pauses.ts';
import {
  account,
  billed,
  foldInto,
  heldScene,
  once,
  type SettlementScene,
  settledElsewhere,
  submit,
  usages,
} from '../../fixtures/ledger/settlement-scene.ts';
import { turns, until } from '../../fixtures/ledger/turns.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  passWaits();
  vi.useRealTimers();
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
  await until(() => scene.away.length === accounts && heldMs().length === accounts);
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

  test('are one lane each: what finishes meanwhile waits with the others, in order', async () => {
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
    scene.log.faults = () => ({ type: 'none' });
    const appends = scene.log.appends;
    await turns();
    expect(scene.log.appends).toBe(appends);
    scene.breaker.answered();
    await until(() => scene.settlement.pending === 0);
    expect(heldMs()).toEqual([]);
    expect(billed(scene)).toEqual(once(Array.from({ length: 5 }, (_, number) => usageOf(1 + number, 1))));
    expect(scene.back()).toBe(1);
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
    const { state } = scene.book.read(account(0));
    if (state.type === 'unopened') throw new Error('not open');
    const before = scene.log.events.length;
    settledElsewhere(scene, account(0), recordUsage(state, usageOf(1, 1), CARD), usageOf(1, 1));
    for (const recorded of scene.log.events.slice(before)) foldInto(scene.book, recorded);
    expect([scene.settlement.pending, scene.back()]).toEqual([0, 0]);
    passWaits();
    await turns();
    expect([scene.back(), scene.breaker.isAway]).toEqual([1, false]);
  });

  test('is told once, and its being away again when it is', async () => {
    const scene = await untilAway(1);
    scene.log.faults = () => ({ type: 'none' });
    scene.breaker.answered();
    scene.breaker.answered();
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
    scene.breaker.answered();
    await until(() => scene.log.appends === appends + 2 && heldMs().length === 2);
    expect(Math.max(...heldMs())).toBeLessThanOrEqual(LIMITS.settlementBackoffMs);
    scene.settlement.close();
  });
});

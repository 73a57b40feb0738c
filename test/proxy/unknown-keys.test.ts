import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { EventLogError } from '../../contracts/event-log.ts';
import { type Position, position } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { TIMING } from '../../ledger/timing.ts';
import { UnknownKeys } from '../../proxy/unknown-keys.ts';
import { heldMs, heldPause, passWaits } from '../fixtures/ledger/held-pauses.ts';

const { unknownKeysWaitingMax, unknownKeyLookMs, unknownKeyPauseMs } = LIMITS;
let heads: PromiseWithResolvers<Position | null>[];
let folds: { readonly at: Position; readonly fold: () => void }[];
let keys: UnknownKeys;

beforeEach(() => {
  passWaits();
  [heads, folds] = [[], []];
  keys = new UnknownKeys({
    log: {
      headPosition: () => {
        const head = Promise.withResolvers<Position | null>();
        heads.push(head);
        return head.promise;
      },
    },
    projections: { whenAt: (at) => new Promise((fold) => folds.push({ at, fold })) },
    timing: { ...TIMING, pause: heldPause },
  });
});

/** Whoever comes, and whether it may look by now. */
function comer(): { isThrough: boolean } {
  const one = { isThrough: false };
  void keys.lookAgain()?.then(() => {
    one.isThrough = true;
  });
  return one;
}

it('waits until what the log had is folded, all who came before a look by that one', async () => {
  const [first, second] = [comer(), comer()];
  await nextTurn();
  expect(heads).toHaveLength(1);
  heads[0]?.resolve(position(7));
  await nextTurn();
  expect(folds.map(({ at }) => at)).toEqual([7]);
  expect([first.isThrough, second.isThrough]).toEqual([false, false]);
  folds[0]?.fold();
  await nextTurn();
  expect([first.isThrough, second.isThrough]).toEqual([true, true]);
});

it('who comes while one looks is in the next look, which begins a pause behind it', async () => {
  comer();
  await nextTurn();
  const [late, later] = [comer(), comer()];
  heads[0]?.resolve(null);
  await nextTurn();
  expect(heads).toHaveLength(1);
  expect([late.isThrough, heldMs()]).toEqual([false, [unknownKeyPauseMs]]);
  passWaits(unknownKeyPauseMs);
  await nextTurn();
  expect(heads).toHaveLength(2);
  heads[1]?.resolve(null);
  await nextTurn();
  expect([late.isThrough, later.isThrough]).toEqual([true, true]);
});

it('is waited for a bounded time, whether it is the log that does not answer or the views that do not come', async () => {
  for (const answer of [() => undefined, () => heads.at(-1)?.resolve(position(7))]) {
    const one = comer();
    await nextTurn();
    answer();
    await nextTurn();
    expect([one.isThrough, heldMs()]).toEqual([false, [unknownKeyLookMs]]);
    passWaits();
    await nextTurn();
    expect(one.isThrough).toBe(true);
    passWaits();
    await nextTurn();
  }
});

it('ends where the log is away', async () => {
  const one = comer();
  await nextTurn();
  heads[0]?.reject(new EventLogError('unavailable', 'away'));
  await nextTurn();
  expect([one.isThrough, heldMs()]).toEqual([true, [unknownKeyPauseMs]]);
});

it('no more than so many wait, and again as many once those are through', async () => {
  for (let one = 0; one < unknownKeysWaitingMax; one++) comer();
  expect(keys.lookAgain()).toBeNull();
  await nextTurn();
  heads[0]?.resolve(null);
  await nextTurn();
  expect(keys.lookAgain()).not.toBeNull();
});

import { describe, expect, it } from 'vitest';
import { AppendGate } from '../../../../ledger/event-log/eventstoredb/append-gate.ts';
import { EVENTSTOREDB_LIMITS } from '../../../../ledger/event-log/eventstoredb/limits.ts';

const { appendsInFlightMax, appendsWaitingMax, appendsWaitingCharsMax } = EVENTSTOREDB_LIMITS;
const A_MINUTE_MS = 60_000;

/** Appends that end when they are told to. */
function heldAppends(gate: AppendGate) {
  const begun: { readonly number: number; readonly end: () => void }[] = [];
  let number = 0;
  const run = (chars = 1): Promise<number> => {
    const own = number++;
    return gate.run(chars, () => new Promise((resolve) => begun.push({ number: own, end: () => resolve(own) })));
  };
  return { begun, run, start: (count: number) => Array.from({ length: count }, () => run()) };
}

const turns = () => new Promise((resolve) => setImmediate(resolve));

describe('the gate of appends', () => {
  it('runs no more than its bound at once, and the others in the order they came', async () => {
    const { begun, start } = heldAppends(new AppendGate(A_MINUTE_MS));
    const all = start(appendsInFlightMax * 2);
    await turns();
    expect(begun).toHaveLength(appendsInFlightMax);
    for (let ended = 0; ended < all.length; ended++) {
      begun[ended]?.end();
      await turns();
      expect(begun).toHaveLength(Math.min(all.length, appendsInFlightMax + ended + 1));
    }
    expect(begun.map(({ number }) => number)).toEqual(all.map((_, index) => index));
    expect(await Promise.all(all)).toHaveLength(all.length);
  });

  it('gives the place of an append that has ended to the first that waits, not to a newcomer', async () => {
    const { begun, run, start } = heldAppends(new AppendGate(A_MINUTE_MS));
    const running = start(appendsInFlightMax);
    const waiting = run();
    begun[0]?.end();
    await running[0];
    const newcomer = run();
    await turns();
    expect(begun.slice(appendsInFlightMax).map(({ number }) => number)).toEqual([appendsInFlightMax]);
    for (const { end } of begun.slice(1)) end();
    await waiting;
    await turns();
    begun.at(-1)?.end();
    expect(await newcomer).toBe(appendsInFlightMax + 1);
  });

  it('refuses what there is no room for, by number and by length, and begins nothing of it', async () => {
    const gate = new AppendGate(A_MINUTE_MS);
    const { begun, run, start } = heldAppends(gate);
    const running = start(appendsInFlightMax);
    await expect(run(appendsWaitingCharsMax + 1)).rejects.toMatchObject({ kind: 'unavailable' });
    const waiting = start(appendsWaitingMax);
    await expect(run()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('appendsWaiting'),
    });
    const refused = Promise.allSettled(waiting);
    await gate.drain(1);
    expect(new Set((await refused).map(({ status }) => status))).toEqual(new Set(['rejected']));
    for (const { end } of begun) end();
    expect(await Promise.all(running)).toHaveLength(appendsInFlightMax);
    expect(begun).toHaveLength(appendsInFlightMax);
  });

  it('refuses what no turn comes for in time', async () => {
    const { begun, run, start } = heldAppends(new AppendGate(20));
    start(appendsInFlightMax);
    await expect(run()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('appendTurnMs'),
    });
    begun[0]?.end();
    await turns();
    expect(begun).toHaveLength(appendsInFlightMax);
  });

  it('is drained when everything has ended, also what waited', async () => {
    const gate = new AppendGate(A_MINUTE_MS);
    await gate.drain(A_MINUTE_MS);
    const { begun, start } = heldAppends(gate);
    const all = start(appendsInFlightMax + 3);
    let isDrained = false;
    const draining = gate.drain(A_MINUTE_MS).then(() => {
      isDrained = true;
    });
    while (begun.length < all.length || !isDrained) {
      expect(isDrained).toBe(false);
      const one = begun.find(({ number }) => !ended.has(number));
      if (one === undefined) break;
      ended.add(one.number);
      one.end();
      await turns();
    }
    await draining;
    expect(ended.size).toBe(all.length);
  });
});

const ended = new Set<number>();

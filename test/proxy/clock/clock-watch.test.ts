import fc from 'fast-check';
import pino from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { ClockWatch } from '../../../proxy/clock/clock-watch.ts';

const JUMP_MS = 5_000;
const STEADY_MS = 60_000;
const DAY_MS = 86_400_000;
const BORN_MS = Date.parse('2026-11-22T12:00:00.000Z');

const watches: ClockWatch[] = [];
afterEach(() => {
  for (const watch of watches.splice(0)) watch.close();
});

/** Both clocks, moved by hand, and a watch on them. */
function scene() {
  const state = { wallMs: BORN_MS, monotonicMs: 1_234.5 };
  const told: { msg: string; changedByMs?: number }[] = [];
  const watch = new ClockWatch({
    wall: () => state.wallMs,
    monotonic: () => state.monotonicMs,
    jumpMs: JUMP_MS,
    steadyMs: STEADY_MS,
    logger: pino({}, { write: (line: string) => told.push(JSON.parse(line)) }),
  });
  watches.push(watch);
  return {
    watch,
    told,
    /** Time goes by as it should. */
    pass: (ms: number) => {
      state.wallMs += ms;
      state.monotonicMs += ms;
    },
    /** Somebody sets the wall clock, or the machine was suspended. */
    jump: (ms: number) => {
      state.wallMs += ms;
    },
  };
}

describe('a clock that goes as it should', () => {
  test.each([
    [0, 1],
    [3, 4],
    [1_000, 5],
  ])('is read again where that took long, a few times at most: %d slow readings', (slow, expected) => {
    let [readings, slowLeft, monotonicMs] = [0, slow, 0];
    const watch = new ClockWatch({
      wall: () => {
        if (slowLeft-- > 0) monotonicMs += 30;
        if (++readings > 100) throw new Error('read without end');
        return BORN_MS + monotonicMs;
      },
      monotonic: () => monotonicMs,
      jumpMs: JUMP_MS,
      steadyMs: STEADY_MS,
      logger: pino({ level: 'silent' }),
    });
    watches.push(watch);
    expect(readings).toBe(expected);
  });

  test('is the machine’s, in whole milliseconds, for however long nobody looks', () => {
    const { watch, pass } = scene();
    expect(watch.now()).toBe(BORN_MS);
    pass(1);
    expect(watch.now()).toBe(BORN_MS + 1);
    pass(400 * DAY_MS);
    expect([watch.now(), watch.doubt()]).toEqual([BORN_MS + 1 + 400 * DAY_MS, null]);
  });

  test('may be set by up to the bound, and be slewed by any amount in the course of time', () => {
    const { watch, jump } = scene();
    jump(JUMP_MS);
    expect([watch.now(), watch.doubt()]).toEqual([BORN_MS + JUMP_MS, null]);
    const slewed = scene();
    for (let seconds = 0; seconds < 100_000; seconds++) {
      slewed.pass(1_000);
      slewed.jump(0.5);
      expect(slewed.watch.doubt()).toBeNull();
    }
    expect(slewed.watch.now()).toBe(BORN_MS + 100_000_000 + 50_000);
  });

  test('may not be set by more than the bound in several steps within two times what it is to be steady for', () => {
    const { watch, pass, jump } = scene();
    jump(JUMP_MS - 1_000);
    expect(watch.doubt()).toBeNull();
    pass(STEADY_MS);
    expect(watch.doubt()).toBeNull();
    jump(1_001);
    expect(watch.doubt()).toMatch(/has jumped by 5 s/);
  });
});

describe.each([
  ['ahead', 40 * DAY_MS, '40 days'],
  ['back', -40 * DAY_MS, '40 days'],
  ['ahead by just more than the bound', JUMP_MS + 1, '5 s'],
  ['back by just more than the bound', -JUMP_MS - 1, '5 s'],
] as const)('a clock that jumps %s', (_title, by, told) => {
  test('is in doubt at the very next look, and time goes on as it went before', () => {
    const { watch, pass, jump } = scene();
    pass(1_000);
    watch.now();
    pass(500);
    jump(by);
    expect(watch.now()).toBe(BORN_MS + 1_500);
    expect(watch.doubt()).toBe(
      `the clock of this machine has jumped by ${told}; nothing is admitted until it has been steady for 60 s`,
    );
    pass(STEADY_MS - 1);
    expect(watch.now()).toBe(BORN_MS + 1_500 + STEADY_MS - 1);
    expect(watch.doubt()).not.toBeNull();
    expect(watch.jumps).toBe(1);
  });

  test('is believed once it has been steady for a minute, and then it is the machine’s again', () => {
    const { watch, told, pass, jump } = scene();
    jump(by);
    expect(watch.doubt()).not.toBeNull();
    pass(STEADY_MS);
    expect([watch.doubt(), watch.now()]).toEqual([null, BORN_MS + by + STEADY_MS]);
    expect(told.at(-1)).toMatchObject({ msg: 'the clock is steady again', changedByMs: by });
    // It is watched on as before.
    jump(by);
    expect(watch.doubt()).not.toBeNull();
  });

  test('and back after three seconds is in doubt for a minute from then, and not a millisecond was wrong', () => {
    const { watch, pass, jump } = scene();
    jump(by);
    expect(watch.now()).toBe(BORN_MS);
    pass(3_000);
    expect(watch.now()).toBe(BORN_MS + 3_000);
    jump(-by);
    expect(watch.now()).toBe(BORN_MS + 3_000);
    pass(STEADY_MS - 1);
    expect(watch.doubt()).not.toBeNull();
    pass(1);
    expect([watch.doubt(), watch.now()]).toEqual([null, BORN_MS + 3_000 + STEADY_MS]);
  });
});

test('a clock that goes wrong in small steps is in doubt once they are more than the bound in two minutes', () => {
  const { watch, pass, jump } = scene();
  let seconds = 0;
  for (; watch.doubt() === null && seconds < 1_000; seconds++) {
    pass(1_000);
    jump(200);
  }
  expect(seconds * 200).toBeLessThan(JUMP_MS + 2 * 200);
  expect(watch.now()).toBeLessThanOrEqual(BORN_MS + seconds * 1_000 + JUMP_MS);
});

describe('at the start', () => {
  test('a clock behind what is known is in doubt until it has been steady for a minute', () => {
    const { watch, pass } = scene();
    watch.hasBeen(BORN_MS + JUMP_MS, "the ledger's newest event");
    expect(watch.doubt()).toBeNull();
    watch.hasBeen(BORN_MS + DAY_MS, "the ledger's newest event");
    expect(watch.doubt()).toMatch(/^the clock of this machine is 24 hours behind the ledger's newest event; nothing/);
    pass(STEADY_MS);
    expect(watch.doubt()).toBeNull();
  });

  test('a clock ahead of it is as it should be: the gateway was off', () => {
    const { watch } = scene();
    watch.hasBeen(BORN_MS - 400 * DAY_MS, "the ledger's newest event");
    expect(watch.doubt()).toBeNull();
  });
});

test('in any course of things time is told as it has gone by, within the bound, so long as nothing has been steady for a minute', () => {
  const step = fc.record({
    passMs: fc.nat({ max: 20_000 }),
    jumpMs: fc.oneof(fc.constant(0), fc.integer({ min: -DAY_MS, max: DAY_MS })),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { watch, pass, jump } = scene();
      let sinceJump = Number.POSITIVE_INFINITY;
      for (const { passMs, jumpMs } of steps) {
        const before = watch.now();
        pass(passMs);
        jump(jumpMs);
        sinceJump = Math.abs(jumpMs) > JUMP_MS ? 0 : sinceJump + passMs;
        const wasInDoubt = watch.doubt() !== null;
        if (sinceJump < STEADY_MS) expect(wasInDoubt).toBe(true);
        if (wasInDoubt) expect(Math.abs(watch.now() - before - passMs)).toBeLessThanOrEqual(2 * JUMP_MS);
      }
    }),
    { numRuns: 300 },
  );
});

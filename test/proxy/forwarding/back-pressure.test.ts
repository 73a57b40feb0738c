import { beforeEach, describe, expect, it } from 'vitest';
import { BackPressure } from '../../../proxy/forwarding/back-pressure.ts';

const STALL_MS = 1_000;
let nowMs: number;
let backPressure: BackPressure;
beforeEach(() => {
  nowMs = 7;
  backPressure = new BackPressure(STALL_MS, () => nowMs);
});

function press(forMs: number): void {
  backPressure.begin();
  nowMs += forMs;
  backPressure.end();
}

describe('an upstream that its client holds back', () => {
  it('is so from the beginning to the end, and then no more', () => {
    expect([backPressure.isNow, backPressure.isForLong]).toEqual([false, false]);
    backPressure.begin();
    expect([backPressure.isNow, backPressure.isForLong]).toEqual([true, false]);
    backPressure.end();
    expect([backPressure.isNow, backPressure.isForLong]).toEqual([false, false]);
  });

  it('is so for long from half of the time on after which a client has left, while it lasts and after', () => {
    backPressure.begin();
    nowMs += STALL_MS / 2 - 1;
    expect(backPressure.isForLong).toBe(false);
    nowMs++;
    expect(backPressure.isForLong).toBe(true);
    backPressure.end();
    nowMs += 100 * STALL_MS;
    expect([backPressure.isNow, backPressure.isForLong]).toEqual([false, true]);
  });

  it('was so lately until the client has kept up for as long', () => {
    press(STALL_MS / 2);
    nowMs += STALL_MS / 2 - 1;
    expect(backPressure.isForLongLately).toBe(true);
    nowMs++;
    expect([backPressure.isForLongLately, backPressure.isForLong]).toEqual([false, true]);
    press(STALL_MS / 4);
    expect(backPressure.isForLongLately).toBe(false);
    nowMs += STALL_MS / 4;
    press(STALL_MS / 4);
    expect(backPressure.isForLongLately).toBe(true);
  });

  it('is so for long by many short times together, and not by the time between them', () => {
    for (let times = 0; times < 4; times++) {
      press(STALL_MS / 10);
      nowMs += STALL_MS;
      expect(backPressure.isForLong).toBe(false);
    }
    press(STALL_MS / 10);
    expect(backPressure.isForLong).toBe(true);
  });

  it('is so once, however often that ends', () => {
    press(STALL_MS / 4);
    nowMs += STALL_MS;
    backPressure.end();
    expect(backPressure.isForLong).toBe(false);
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import { HeldBack } from '../../../proxy/relay/held-back.ts';

const STALL_MS = 1_000;
let nowMs: number;
let heldBack: HeldBack;
beforeEach(() => {
  nowMs = 7;
  heldBack = new HeldBack(STALL_MS, () => nowMs);
});

function hold(forMs: number): void {
  heldBack.begin();
  nowMs += forMs;
  heldBack.end();
}

describe('an upstream that its client holds back', () => {
  it('is so from the beginning to the end, and then no more', () => {
    expect([heldBack.isNow, heldBack.isForLong]).toEqual([false, false]);
    heldBack.begin();
    expect([heldBack.isNow, heldBack.isForLong]).toEqual([true, false]);
    heldBack.end();
    expect([heldBack.isNow, heldBack.isForLong]).toEqual([false, false]);
  });

  it('is so for long from half of the time on after which a client has left, while it lasts and after', () => {
    heldBack.begin();
    nowMs += STALL_MS / 2 - 1;
    expect(heldBack.isForLong).toBe(false);
    nowMs++;
    expect(heldBack.isForLong).toBe(true);
    heldBack.end();
    nowMs += 100 * STALL_MS;
    expect([heldBack.isNow, heldBack.isForLong]).toEqual([false, true]);
  });

  it('was so lately until the client has kept up for as long', () => {
    hold(STALL_MS / 2);
    nowMs += STALL_MS / 2 - 1;
    expect(heldBack.isForLongLately).toBe(true);
    nowMs++;
    expect([heldBack.isForLongLately, heldBack.isForLong]).toEqual([false, true]);
    hold(STALL_MS / 4);
    expect(heldBack.isForLongLately).toBe(false);
    nowMs += STALL_MS / 4;
    hold(STALL_MS / 4);
    expect(heldBack.isForLongLately).toBe(true);
  });

  it('is so for long by many short times together, and not by the time between them', () => {
    for (let times = 0; times < 4; times++) {
      hold(STALL_MS / 10);
      nowMs += STALL_MS;
      expect(heldBack.isForLong).toBe(false);
    }
    hold(STALL_MS / 10);
    expect(heldBack.isForLong).toBe(true);
  });

  it('is so once, however often that ends', () => {
    hold(STALL_MS / 4);
    nowMs += STALL_MS;
    heldBack.end();
    expect(heldBack.isForLong).toBe(false);
  });
});

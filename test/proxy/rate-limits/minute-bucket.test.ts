import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MinuteBucket } from '../../../proxy/rate-limits/minute-bucket.ts';

const limits = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 10_000_000_000 }));
const START_MS = 1_000_000;

describe('a minute bucket', () => {
  it('lets pass a minute at once, then as much as its limit gives back', () => {
    const bucket = new MinuteBucket(START_MS);
    for (let count = 0; count < 60; count++) bucket.take(1, 60, START_MS);
    expect([bucket.waitMs(1, 60, START_MS), bucket.left(60, START_MS)]).toEqual([1_000, 0]);
    expect([bucket.waitMs(1, 60, START_MS + 999), bucket.waitMs(1, 60, START_MS + 1_000)]).toEqual([1, 0]);
    expect(bucket.left(60, START_MS + 30_000)).toBe(30);
    expect([bucket.fullInMs(60, START_MS + 30_000), bucket.fullInMs(60, START_MS + 60_000)]).toEqual([30_000, 0]);
  });

  it('never lets more pass in any time than limit × (1 + minutes), and its waits are true to the millisecond', () => {
    fc.assert(
      fc.property(
        limits,
        fc.array(fc.tuple(fc.integer({ min: 0, max: 40_000 }), fc.double({ min: 0, max: 1, noNaN: true })), {
          maxLength: 60,
        }),
        (limit, steps) => {
          const bucket = new MinuteBucket(START_MS);
          const passed: { readonly atMs: number; readonly amount: number }[] = [];
          let nowMs = START_MS;
          for (const [afterMs, part] of steps) {
            nowMs += afterMs;
            const amount = Math.max(1, Math.floor(limit * part));
            const waitMs = bucket.waitMs(amount, limit, nowMs);
            expect(Number.isSafeInteger(waitMs)).toBe(true);
            if (waitMs > 0) {
              expect(bucket.waitMs(amount, limit, nowMs + waitMs - 1)).toBe(1);
              expect(bucket.waitMs(amount, limit, nowMs + waitMs)).toBe(0);
              nowMs += waitMs;
            }
            bucket.take(amount, limit, nowMs);
            passed.push({ atMs: nowMs, amount });
          }
          for (const [from, first] of passed.entries()) {
            let sum = 0n;
            for (const { atMs, amount } of passed.slice(from)) {
              sum += BigInt(amount);
              expect(sum * 60_000n <= BigInt(limit) * BigInt(60_000 + atMs - first.atMs)).toBe(true);
            }
          }
        },
      ),
    );
  });

  it('lets pass what is more than a minute holds when it is full, and then waits for it', () => {
    const bucket = new MinuteBucket(START_MS);
    expect(bucket.waitMs(250, 100, START_MS)).toBe(0);
    bucket.take(250, 100, START_MS);
    expect(bucket.waitMs(1, 100, START_MS)).toBe(90_600);
    // Full again only when all is paid back.
    expect([bucket.waitMs(100, 100, START_MS), bucket.waitMs(250, 100, START_MS)]).toEqual([150_000, 150_000]);
  });

  it('owes ten minutes at the most, whatever was metered', () => {
    const bucket = new MinuteBucket(START_MS);
    bucket.take(Number.MAX_SAFE_INTEGER, 100, START_MS);
    expect(bucket.waitMs(1, 100, START_MS)).toBe(600_600);
    bucket.take(5, 100, START_MS);
    expect(bucket.waitMs(1, 100, START_MS)).toBe(600_600);
    // A limit that has become smaller makes what is owed no less.
    bucket.take(1, 10, START_MS);
    expect(bucket.left(10, START_MS)).toBe(0);
    expect(bucket.waitMs(1, 10, START_MS)).toBeGreaterThan(600_600);
  });

  it('takes back what was not needed, but not what has come back by itself', () => {
    const bucket = new MinuteBucket(START_MS);
    bucket.take(80, 100, START_MS);
    bucket.giveBack(50, 80, START_MS, 100, START_MS);
    expect(bucket.left(100, START_MS)).toBe(70);
    const later = new MinuteBucket(START_MS);
    later.take(80, 100, START_MS);
    later.take(20, 100, START_MS);
    // After 30 s 50 of the 80 have come back by themselves: 30 are left to give back.
    later.giveBack(80, 80, START_MS, 100, START_MS + 30_000);
    expect(later.left(100, START_MS + 30_000)).toBe(80);
    later.giveBack(80, 80, START_MS, 100, START_MS + 60_000);
    expect(later.left(100, START_MS + 60_000)).toBe(100);
  });

  it('stands still while its clock does, and is never emptied by one that goes back', () => {
    const bucket = new MinuteBucket(START_MS);
    bucket.take(10, 10, START_MS);
    expect([bucket.left(10, START_MS - 60_000), bucket.left(10, START_MS), bucket.left(10, START_MS + 6_000)]).toEqual([
      0, 0, 1,
    ]);
  });
});

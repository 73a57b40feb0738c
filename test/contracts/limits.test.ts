import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../contracts/limits.ts';

const HOUR_MS = 60 * 60 * 1000;

describe('the limits', () => {
  test('are whole numbers above zero', () => {
    for (const [name, value] of Object.entries(LIMITS)) {
      expect(Number.isSafeInteger(value), name).toBe(true);
      expect(value, name).toBeGreaterThan(0);
    }
  });

  test('are frozen', () => {
    expect(Object.isFrozen(LIMITS)).toBe(true);
  });

  test('have the values that callers are told (interface, 1.4; interface, 5.4)', () => {
    expect(LIMITS.trialMs).toBe(30 * 24 * HOUR_MS);
    expect(LIMITS.requestBodyBytesMax).toBe(32 * 1024 * 1024);
  });

  test('let a request end before the credits that it burns are written off', () => {
    expect(LIMITS.requestTotalMs + LIMITS.drainMs).toBeLessThanOrEqual(LIMITS.expiryLateMsMin);
  });

  test('stay below the 300 s of silence after which SDK clients give up', () => {
    expect(LIMITS.idleMs).toBeLessThanOrEqual(300_000);
  });
});

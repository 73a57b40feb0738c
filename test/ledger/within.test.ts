import { describe, expect, it } from 'vitest';
import { within } from '../../ledger/within.ts';

const LONG_MS = 3_600_000;

describe('a wait that is bounded', () => {
  it('gives what came in time', async () => {
    expect(await within(LONG_MS, Promise.resolve('here'))).toBe('here');
  });

  it('gives null when the time is up, and what then fails is nobody’s', async () => {
    const late = Promise.withResolvers<string>();
    expect(await within(0, late.promise)).toBeNull();
    late.reject(new Error('too late'));
  });

  it('fails as what it waits for', async () => {
    await expect(within(LONG_MS, Promise.reject(new Error('away')))).rejects.toThrow('away');
  });
});

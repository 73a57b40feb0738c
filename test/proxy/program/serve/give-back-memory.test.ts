import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { giveBackMemory } from '../../../../proxy/program/serve/give-back-memory.ts';

const MIB = 1024 * 1024;

test('what is needed no more goes back to the system', () => {
  let garbage: unknown = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  const before = getHeapStatistics().total_physical_size;
  const givenBack = (): number => before - getHeapStatistics().total_physical_size;
  garbage = null;
  giveBackMemory(1);
  // The heap is larger than that.
  expect(givenBack()).toBeLessThan(16 * MIB);
  giveBackMemory(Number.POSITIVE_INFINITY);
  expect(givenBack()).toBeGreaterThan(16 * MIB);
  expect(garbage).toBeNull();
});

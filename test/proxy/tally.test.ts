import { expect, it } from 'vitest';
import { Tally } from '../../proxy/tally.ts';

it('counts by key, and forgets a key of which nothing is left', () => {
  const tally = new Tally<string>();
  expect(tally.of('a')).toBe(0);
  tally.add('a');
  tally.add('a', 4);
  tally.add('b');
  expect([tally.of('a'), tally.of('b'), tally.size]).toEqual([5, 1, 2]);
  tally.subtract('a', 4);
  expect([tally.of('a'), tally.size]).toEqual([1, 2]);
  tally.subtract('a');
  tally.subtract('b', 2);
  expect([tally.of('a'), tally.of('b'), tally.size]).toEqual([0, 0, 0]);
});

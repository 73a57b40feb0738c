import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { position } from '../../contracts/ids.ts';
import { FoldedPositions } from '../../projections/folded-positions.ts';
import { VIEW_LIMITS } from '../../projections/limits.ts';

const at = (value: number) => ({ position: position(value) }) as RecordedEvent;
const MAX = VIEW_LIMITS.recentPositionsMax;

test('single positions are remembered for as many more as the limit says, and not for ever', () => {
  const folded = new FoldedPositions();
  for (let value = 1; value <= 3 * MAX; value++) folded.add([at(2 * value)], null);
  for (const ago of [0, 1, MAX - 1]) expect(folded.has(position(2 * (3 * MAX - ago)))).toBe(true);
  expect(folded.has(position(2))).toBe(false);
  expect(folded.has(position(6 * MAX - 1))).toBe(false);
  folded.reset(position(1));
  expect([1, 6 * MAX].map((value) => folded.has(position(value)))).toEqual([true, false]);
});

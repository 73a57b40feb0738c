import { expect, it } from 'vitest';
import { Crumbs } from '../../../proxy/request-body/crumbs.ts';

const MAX = 100;
/** How many pieces of so many bytes come before they are too many. */
function taken(crumbs: Crumbs, bytes: number, most = 10_000): number {
  for (let pieces = 0; pieces < most; pieces++) if (crumbs.add(bytes)) return pieces;
  return most;
}

it('lets so many short pieces come in a row, and any number of those that are long enough', () => {
  expect(taken(new Crumbs(MAX), 1)).toBe(101);
  expect(taken(new Crumbs(MAX), 64)).toBe(10_000);
  const crumbs = new Crumbs(MAX);
  for (let round = 0; round < 100; round++) {
    expect(taken(crumbs, 1, 50)).toBe(50);
    expect(taken(crumbs, 64 * 50, 1)).toBe(1);
  }
});

it('lets no long pieces be saved up for short ones', () => {
  const crumbs = new Crumbs(MAX);
  expect(taken(crumbs, 1024 * 1024)).toBe(10_000);
  expect(taken(crumbs, 1)).toBe(101);
});

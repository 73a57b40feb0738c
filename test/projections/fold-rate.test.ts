import { expect, it } from 'vitest';
import { FoldRate } from '../../projections/fold-rate.ts';
import { readViewsFacts } from '../../projections/rebuild/views-facts.ts';
import { inTurnsThroughout } from '../fixtures/ledger/turns.ts';
import { logOf, written } from './started-projections.ts';

inTurnsThroughout();

it('is of the last ten seconds, and of less where there was less', () => {
  const rate = new FoldRate();
  rate.add(100, 50_000);
  expect(rate.lately(50_500)).toEqual({ events: 100, ofMs: 500, atMs: 50_500 });
  rate.add(30, 55_000);
  expect(rate.lately(60_000)).toEqual({ events: 130, ofMs: 10_000, atMs: 60_000 });
  expect(rate.lately(61_000)).toEqual({ events: 30, ofMs: 10_000, atMs: 61_000 });
  expect(rate.lately(70_000)).toMatchObject({ events: 0 });
  expect(new FoldRate().lately(7)).toEqual({ events: 0, ofMs: 1, atMs: 7 });
});

it('counts nothing of a time that a clock which was set back has not come to again', () => {
  const rate = new FoldRate();
  rate.add(100, 50_000);
  rate.add(5, 20_000);
  expect(rate.lately(20_000).events).toBe(5);
  expect(rate.lately(20_000).ofMs).toBeGreaterThan(0);
});

it('stands in the file of the views that have folded', async () => {
  const log = logOf();
  const facts = readViewsFacts(await written(log));
  expect(facts?.foldedLately).toMatchObject({ events: log.events.length, atMs: expect.any(Number) });
});

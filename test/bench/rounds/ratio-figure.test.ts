import { expect, test } from 'vitest';
import {
  comparedFigure,
  controlText,
  costOf,
  isTooWide,
  placeOfUpperBound,
  ratioFigure,
  ratioText,
} from './ratio-figure.ts';

const LATENCY = { p50Us: 0, p99Us: 0 };
const sampleOf = (cpuUs: number, requests: number, events = 0) => ({
  cpuUs,
  window: { seconds: 1, requests, events, answer: LATENCY, firstByte: LATENCY, delay: LATENCY },
});

test('the bound of the median is the fifteenth of twenty rounds, the fifth of five, and none of four', () => {
  expect([4, 5, 20].map(placeOfUpperBound)).toEqual([null, 4, 14]);
});

test('the bounds are as many rounds from either end, and the single rounds are told', () => {
  const twenty = Array.from({ length: 20 }, (_, index) => 1 + index / 64).toReversed();
  const figure = ratioFigure(twenty);
  expect(figure).toEqual({
    ...{
      rounds: 20,
      medianRatio: 1 + 9.5 / 64,
      lower95: 1 + 5 / 64,
      upper95: 1 + 14 / 64,
      least: 1,
      most: 1 + 19 / 64,
    },
  });
  expect(ratioText(figure)).toBe('ratio of 20 rounds 1.148, upper 95% bound 1.219');
  expect(ratioText(ratioFigure([1, 1.1]))).toBe('ratio of 2 rounds 1.050, upper 95% bound unknown');
});

test('what was not measured has no cost', () => {
  expect([costOf(sampleOf(100, 10, 1_000)), costOf(sampleOf(100, 10, 1_000), 'event')]).toEqual([10, 0.1]);
  expect(() => costOf(undefined)).toThrow('each round has two of each');
});

test('a round compares two processes of each kind, and its control one of each with the other of each', () => {
  const figure = comparedFigure(Array.from({ length: 5 }, () => ({ over: [32, 8], under: [9, 4] })));
  expect(figure.medianRatio).toBeCloseTo(16 / 6);
  expect(figure.control).toMatchObject({ rounds: 5, medianRatio: 3, lower95: 3, upper95: 3 });
  expect(controlText(figure)).toBe(
    'control, one process of each to the other of each: ratio 3.000, 95% bounds 3.000 and 3.000, single rounds 3.000 to 3.000',
  );
});

test('a control whose bounds are as far apart as what is to be told makes the run doubtful', () => {
  const spread = (by: number) => {
    const costs = (place: number) => ({ over: [1 + (place - 2) * by, 1], under: [1 + (place - 2) * by, 1] }) as const;
    return comparedFigure(Array.from({ length: 5 }, (_, place) => costs(place)));
  };
  expect([isTooWide(spread(0.02)), isTooWide(spread(0.01))]).toEqual([true, false]);
  expect(isTooWide(comparedFigure([{ over: [1, 2], under: [1, 3] }]))).toBe(false);
});

import { expect, test } from 'vitest';
import { controlText, costOf, isTooWide, placeOfUpperBound, ratioFigure, ratioText, toBoth } from './ratio-figure.ts';

const LATENCY = { p50Us: 0, p99Us: 0 };
const windowOf = (cpuUs: number, requests: number, events = 0) => ({
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
  expect(controlText(figure)).toBe('ratio 1.148, 95% bounds 1.078 and 1.219, single rounds 1.000 to 1.297');
  expect(ratioText(ratioFigure([1, 1.1]))).toBe('ratio of 2 rounds 1.050, upper 95% bound unknown');
});

test('what a request or an event costs is that of all windows together', () => {
  const windows = [windowOf(100, 10, 1_000), windowOf(500, 20, 2_000)];
  expect([costOf(windows, 'request'), costOf(windows, 'event')]).toEqual([20, 0.2]);
});

test('of two that differ in nothing, neither is the one to be compared with', () => {
  expect(toBoth(6, [4, 9])).toBe(1);
  expect(toBoth(6, [9, 4])).toBe(1);
});

test('a control whose bounds are as far apart as what is to be told makes the run doubtful', () => {
  const spread = (by: number) => ratioFigure(Array.from({ length: 5 }, (_, index) => 1 + (index - 2) * by));
  expect([isTooWide(spread(0.02)), isTooWide(spread(0.01)), isTooWide(ratioFigure([1, 2]))]).toEqual([
    true,
    false,
    false,
  ]);
});

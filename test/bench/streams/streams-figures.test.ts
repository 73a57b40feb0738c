import { expect, test } from 'vitest';
import { judge } from '../goals.ts';
import { mostThatHold, type StreamsFigure, streamsReport } from './streams-figures.ts';

const RANGE = { step: 100, most: 2_000 };

test.each([0, 100, 700, 1_000, 1_950, 2_000, 9_000])('the most streams are found where %i hold', async (limit) => {
  const tried: number[] = [];
  const { streams, held, failed } = await mostThatHold(RANGE, async (count) => {
    tried.push(count);
    return { holds: count <= limit, count };
  });
  const most = Math.min(2_000, Math.floor(limit / 100) * 100);
  expect(streams).toBe(most);
  expect(held?.count ?? 0).toBe(most);
  expect(failed?.count ?? null).toBe(limit >= 2_000 ? null : most + 100);
  expect(tried.length).toBeLessThanOrEqual(5);
});

const figure = (contender: StreamsFigure['contender'], streams: number, why: string | null): StreamsFigure => ({
  ...{ contender, streams, why, addedP99Ms: 12.34, bareP99Ms: 1.5, cpuUsPerEvent: 31 },
});

test('ours is judged by the floor, and a contender that held all is told so', () => {
  const streams = [figure('nginx', 2_000, null), figure('floor', 1_000, 'late'), figure('ours', 700, 'later')];
  const judged = judge([], { streams }).find(({ title }) => title.startsWith('streams'));
  expect(judged).toMatchObject({ goal: 'at least 0.8x', measured: '0.7x', verdict: 'fell short' });
  const rows = streamsReport(streams, RANGE).split('\n');
  const cells = (name: string) =>
    rows
      .find((row) => row.includes(` ${name} `))
      ?.split('│')
      .slice(2, -1);
  expect(cells('nginx')?.map((cell) => cell.trim())).toEqual(['2000 or more', '12.3', '1.5', '31.0', '2.00x', '']);
  expect(cells('ours')?.map((cell) => cell.trim())).toEqual(['700', '12.3', '1.5', '31.0', '0.70x', 'later']);
});

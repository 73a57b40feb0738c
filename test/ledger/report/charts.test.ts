import { describe, expect, it } from 'vitest';
import { columnChart, rowChart } from '../../../ledger/report/charts.ts';

interface Drawn {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const numbers = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

const barsOf = (svg: string): Drawn[] =>
  numbers(svg, /<rect class="bar"([^>]*)\/>/g).map((attributes) => {
    const of = (name: string): number => Number(new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1]);
    return { x: of('x'), y: of('y'), width: of('width'), height: of('height') };
  });

const bars = (...values: readonly bigint[]) => values.map((value, at) => ({ label: `no ${at}`, value }));

describe('plots of the month’s report', () => {
  it('columns are as high as their amounts over an axis of round ones, side by side; what is below 0 has none', () => {
    const svg = columnChart('by day', bars(8_700_000n, 4_350_000n, 0n, -1n)).text;
    const drawn = barsOf(svg);
    const [most, half, none, below] = drawn;
    // The axis ends at 10 USD, 136 units above its foot.
    expect(drawn.map(({ height }) => height)).toEqual([118.32, 59.16, 0, 0]);
    expect(drawn.map(({ y, height }) => y + height)).toEqual([148, 148, 148, 148]);
    expect(numbers(svg, /text-anchor="end">([^<]*)</g)).toEqual(['0.000000 USD', '5.000000 USD', '10 USD']);
    expect(new Set([most, half, none, below].map((bar) => bar?.width)).size).toBe(1);
    for (const [at, bar] of drawn.entries()) {
      expect(bar.x).toBeGreaterThan((drawn[at - 1]?.x ?? 92) + (at === 0 ? 0 : bar.width));
      expect(bar.x + bar.width).toBeLessThan(720);
    }
  });

  it('rows are as long as their amounts, each told to the micro-USD, and their names are bounded', () => {
    const svg = rowChart('by model', [...bars(3_000_000n, 1_000_000n), { label: 'm'.repeat(40), value: 0n }]).text;
    expect(barsOf(svg).map(({ width }) => width)).toEqual([360, 120, 0]);
    expect(numbers(svg, /y="\d+">([\d.,]+ USD)</g)).toEqual(['3.000000 USD', '1.000000 USD', '0.000000 USD']);
    expect(svg).toContain(`text-anchor="end">${'m'.repeat(31)}…<`);
  });

  it('who cannot see a plot is told all that it shows', () => {
    for (const chart of [columnChart, rowChart])
      expect(numbers(chart('by day', bars(8_700_000n, -1n)).text, /aria-label="([^"]*)"/g)).toEqual([
        'by day: no 0, 8.700000 USD; no 1, -0.000001 USD',
      ]);
  });

  it('nothing to draw is an empty plot', () => {
    expect(barsOf(columnChart('by day', []).text)).toEqual([]);
    expect(barsOf(rowChart('by model', bars(0n)).text)).toMatchObject([{ width: 0 }]);
  });
});

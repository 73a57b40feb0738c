import { type ScaleLinear, scaleBand, scaleLinear } from 'd3-scale';
import { groupedUsd } from '../../contracts/money.ts';
import { type Html, html } from './html.ts';

/** Plots as SVG that stands in the page itself: nothing is loaded, and they print as sharply as text. */

const WIDTH = 720;

export interface Bar {
  readonly label: string;
  readonly value: bigint;
}

/** The most that a character of an amount takes at the size of labels, and how far one is from what it is of. */
const [AMOUNT_CHARACTER, LABEL_GAP] = [7, 6];

/** The room that amounts take beside a plot. */
const roomFor = (amounts: readonly string[]): number =>
  2 * LABEL_GAP + AMOUNT_CHARACTER * Math.max(0, ...amounts.map(({ length }) => length));

const COLUMNS = { height: 170, top: 12, bottom: 22, gap: 0.24, ticks: 3 };

/** One column a bar, over an axis from 0. @param title of the plot, which stands before its bars for who cannot see it */
export function columnChart(title: string, bars: readonly Bar[]): Html {
  const { height, top, bottom, gap, ticks } = COLUMNS;
  const up = amountScale(bars, [height - bottom, top]).nice(ticks);
  const marks = up.ticks(ticks).map((value) => ({ value, amount: shortUsd(BigInt(Math.round(value))) }));
  const left = roomFor(marks.map(({ amount }) => amount));
  const across = scaleBand<number>(bars.keys(), [left, WIDTH])
    .padding(gap / 2)
    .paddingInner(gap);
  const width = across.bandwidth();
  const columns = bars.map(({ label, value }, at) => {
    const x = across(at) ?? left;
    const y = up(drawn(value));
    return html`<g><title>${label}: ${groupedUsd(value)} USD</title><rect class="bar" x="${place(x)}" y="${place(y)}" width="${place(width)}" height="${place(height - bottom - y)}"/><text class="label" x="${place(x + width / 2)}" y="${height - 6}" text-anchor="middle">${label}</text></g>`;
  });
  const lines = marks.map(({ value, amount }) => {
    const y = place(up(value));
    return html`<line class="grid" x1="${left}" x2="${WIDTH}" y1="${y}" y2="${y}"/><text class="label" x="${left - LABEL_GAP}" y="${y}" dy="3" text-anchor="end">${amount}</text>`;
  });
  return html`<svg role="img" viewBox="0 0 ${WIDTH} ${height}" aria-label="${inWords(title, bars)}">${lines}${columns}</svg>`;
}

const ROWS = { step: 22, left: 210, rightLeast: 150, gap: 8 };

/** One line a bar, with its amount behind it. */
export function rowChart(title: string, bars: readonly Bar[]): Html {
  const { step, left, rightLeast, gap } = ROWS;
  const amountOf = ({ value }: Bar): string => `${groupedUsd(value)} USD`;
  const right = Math.max(rightLeast, roomFor(bars.map(amountOf)));
  const along = amountScale(bars, [0, WIDTH - left - right]);
  const rows = bars.map((bar, at) => {
    const { label, value } = bar;
    const y = at * step;
    const size = along(drawn(value));
    return html`<g><text class="label" x="${left - 8}" y="${y + 15}" text-anchor="end">${shortened(label)}<title>${label}</title></text><rect class="bar" x="${left}" y="${y + gap / 2}" width="${place(size)}" height="${step - gap}"/><text class="label" x="${place(left + size + LABEL_GAP)}" y="${y + 15}">${amountOf(bar)}</text></g>`;
  });
  return html`<svg role="img" viewBox="0 0 ${WIDTH} ${Math.max(1, bars.length) * step}" aria-label="${inWords(title, bars)}">${rows}</svg>`;
}

/** From nothing to the largest amount, in micro-USD. */
const amountScale = (bars: readonly Bar[], range: readonly [number, number]): ScaleLinear<number, number> =>
  scaleLinear([0, Math.max(1, ...bars.map(({ value }) => Number(value)))], range);

/** Of a plot, and so not exact; nothing below 0 is drawn. */
const drawn = (value: bigint): number => (value < 0n ? 0 : Number(value));

const place = (value: number): string => value.toFixed(2);

/** All that a plot shows, for who cannot see it. */
const inWords = (title: string, bars: readonly Bar[]): string =>
  `${title}: ${bars.map(({ label, value }) => `${label}, ${groupedUsd(value)} USD`).join('; ')}`;

const LABEL_CHARS = 32;

const shortened = (label: string): string => {
  const characters = [...label];
  return characters.length <= LABEL_CHARS ? label : `${characters.slice(0, LABEL_CHARS - 1).join('')}…`;
};

/** For an axis: whole dollars where there are some. */
const shortUsd = (amount: bigint): string =>
  `${amount >= 10_000_000n ? groupedUsd(amount).replace(/\.\d+/, '') : groupedUsd(amount)} USD`;

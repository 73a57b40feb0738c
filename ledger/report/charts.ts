import { groupedUsd } from '../../contracts/money.ts';
import { type Html, html } from './html.ts';

/** Plots as SVG that stands in the page itself: nothing is loaded, and they print as sharply as text. */

const WIDTH = 720;

export interface Bar {
  readonly label: string;
  readonly value: bigint;
}

const COLUMNS = { height: 170, left: 92, top: 12, bottom: 22 };

/** One column a bar, over an axis from 0. @param title of the plot, for who cannot see it */
export function columnChart(title: string, bars: readonly Bar[]): Html {
  const { height, left, top, bottom } = COLUMNS;
  const most = largest(bars);
  const room = height - top - bottom;
  const step = (WIDTH - left) / Math.max(1, bars.length);
  const columns = bars.map(({ label, value }, at) => {
    const size = share(value, most) * room;
    const x = left + at * step;
    return html`<g><title>${label}: ${groupedUsd(value)} USD</title><rect class="bar" x="${place(x + step * 0.12)}" y="${place(top + room - size)}" width="${place(step * 0.76)}" height="${place(size)}"/><text class="label" x="${place(x + step / 2)}" y="${height - 6}" text-anchor="middle">${label}</text></g>`;
  });
  const lines = [0n, most / 2n, most].map((value) => {
    const y = place(top + room - share(value, most) * room);
    return html`<line class="grid" x1="${left}" x2="${WIDTH}" y1="${y}" y2="${y}"/><text class="label" x="${left - 6}" y="${y}" dy="3" text-anchor="end">${shortUsd(value)}</text>`;
  });
  return html`<svg role="img" viewBox="0 0 ${WIDTH} ${height}" aria-label="${title}">${lines}${columns}</svg>`;
}

const ROWS = { step: 22, left: 210, right: 150 };

/** One line a bar, with its amount behind it. */
export function rowChart(title: string, bars: readonly Bar[]): Html {
  const { step, left, right } = ROWS;
  const most = largest(bars);
  const rows = bars.map(({ label, value }, at) => {
    const y = at * step;
    const size = share(value, most) * (WIDTH - left - right);
    return html`<g><text class="label" x="${left - 8}" y="${y + 15}" text-anchor="end">${shortened(label)}<title>${label}</title></text><rect class="bar" x="${left}" y="${y + 4}" width="${place(size)}" height="${step - 8}"/><text class="label" x="${place(left + size + 6)}" y="${y + 15}">${groupedUsd(value)} USD</text></g>`;
  });
  return html`<svg role="img" viewBox="0 0 ${WIDTH} ${Math.max(1, bars.length) * step}" aria-label="${title}">${rows}</svg>`;
}

const largest = (bars: readonly Bar[]): bigint => bars.reduce((most, { value }) => (value > most ? value : most), 0n);

const PARTS = 10_000n;

/** Of a plot, and so not exact; nothing below 0 is drawn. */
const share = (value: bigint, most: bigint): number =>
  most === 0n || value <= 0n ? 0 : Number((value * PARTS) / most) / Number(PARTS);

const place = (value: number): string => value.toFixed(2);

const LABEL_CHARS = 32;

const shortened = (label: string): string => {
  const characters = [...label];
  return characters.length <= LABEL_CHARS ? label : `${characters.slice(0, LABEL_CHARS - 1).join('')}…`;
};

/** For an axis: whole dollars where there are some. */
const shortUsd = (amount: bigint): string =>
  `${amount >= 10_000_000n ? groupedUsd(amount).replace(/\.\d+/, '') : groupedUsd(amount)} USD`;

import { groupedCount, groupedUsd } from '../../contracts/money.ts';
import { type Html, html } from './html.ts';

/**
 * @param head names of the columns; `#` before one says that it is of numbers
 * @param rows each a `<tr>` with as many cells
 */
export const table = (head: readonly string[], rows: readonly Html[]): Html => html`<div class="wide"><table>
<thead><tr>${head.map((name) => (name.startsWith('#') ? html`<th scope="col" class="n">${name.slice(1)}</th>` : html`<th scope="col">${name}</th>`))}</tr></thead>
<tbody>
${rows}
</tbody></table></div>`;

export const textCell = (text: string): Html => html`<td>${text}</td>`;

/** A sentence: where it is wrapped its words, and ids of our own making, stay whole. @param id below it */
export const sentenceCell = (text: string, id: string | null = null): Html =>
  html`<td class="t">${text}${id === null ? html`` : html`<br><code>${id}</code>`}</td>`;

/** Of our own few words, which are not broken. */
export const wordCell = (text: string): Html => html`<td class="w">${text}</td>`;

export const countCell = (count: number | bigint | null): Html =>
  html`<td class="n">${count === null ? '' : groupedCount(count)}</td>`;

export const amountCell = (amount: bigint): Html => html`<td class="n">${groupedUsd(amount)}</td>`;

/** A line of sums, as text: the first is its name. */
export const sumRow = ([name = '', ...cells]: readonly string[]): Html =>
  html`<tr class="sum"><td>${name}</td>${cells.map((text) => html`<td class="n">${text}</td>`)}</tr>`;

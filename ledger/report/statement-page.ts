import { groupedCount, groupedExactUsd, groupedUsd, picoUsd } from '../../contracts/money.ts';
import { DECREASES, INCREASES } from '../../contracts/statement-events.ts';
import { columnChart, rowChart } from './charts.ts';
import { type Html, html } from './html.ts';
import type { MonthStatement } from './month-statement.ts';
import { pageFrame } from './page-frame.ts';
import { CARRIED, FIGURE_WORDS, PAYMENTS_LEFT_OUT, type StatementOf, statusSentence } from './statement-words.ts';
import { amountCell, countCell, sentenceCell, sumRow, table, textCell, wordCell } from './tables.ts';

const MODELS_PLOTTED = 12;

/** A month of one account as a page that loads nothing and prints on A4. */
export function statementPage(statement: MonthStatement, of: StatementOf): string {
  const { month, status } = statement;
  const isOpen = status === 'open';
  return pageFrame(`Statement of ${month}`, [
    html`<p class="dim">Account <code>${of.accountId}</code>, ${of.email}, product ${of.product}. ${month} in UTC; made at ${of.madeAt}.
All amounts in USD.</p>
<p class="${isOpen ? 'bad' : 'dim'}">${statusSentence(statement, of)}</p>`,
    balance(statement),
    spend(statement),
    items(statement),
    movements(statement),
  ]);
}

const line = (name: string, amount: bigint): Html => html`<tr>${textCell(name)}${amountCell(amount)}</tr>`;

const balance = ({ opening, closing, sums }: MonthStatement): Html => html`<h2>Balance</h2>
${table(
  ['', '#USD'],
  [
    sumRow(['Opening balance', groupedUsd(opening)]),
    ...INCREASES.map((figure) => line(FIGURE_WORDS[figure], sums[figure])),
    ...DECREASES.map((figure) => line(FIGURE_WORDS[figure], -sums[figure])),
    sumRow(['Closing balance', groupedUsd(closing)]),
  ],
)}`;

function spend({ days, models, month }: MonthStatement): Html {
  if (models.length === 0) return html`<h2>Usage</h2>\n<p>No request was charged in this month.</p>`;
  const byDay = days.map((value, at) => ({ label: String(at + 1), value }));
  const bars = models.slice(0, MODELS_PLOTTED).map(({ model, lane, debited }) => ({
    label: lane === 'fast' ? `${model} (fast)` : model,
    value: debited,
  }));
  const rest = models.slice(MODELS_PLOTTED).reduce((sum, { debited }) => sum + debited, 0n);
  if (rest > 0n) bars.push({ label: 'all others', value: rest });
  return html`<h2>Usage</h2>
<figure>${columnChart(`Debited by day of ${month}`, byDay)}<figcaption>Debited by day (UTC) of the request’s start</figcaption></figure>
<figure>${rowChart('Debited by model', bars)}<figcaption>Debited by model</figcaption></figure>`;
}

function items({ items: all, carried, sums }: MonthStatement): Html {
  if (all.length === 0) return html``;
  const cost = all.reduce((sum, one) => sum + one.cost, 0n);
  const exact = (amount: bigint): string => groupedExactUsd(picoUsd(amount));
  return html`<h3>By model and what was billed</h3>
<p>Exact, by the rate cards of their time; a debit takes whole millionths of a dollar, and carries the rest on. What a request cost beyond its hold is left out until it is approved.</p>
${table(
  ['model', 'lane', 'what', '#count', '#USD'],
  [
    ...all.map(
      (one) =>
        html`<tr>${textCell(one.model)}${wordCell(one.lane)}${wordCell(one.item)}${countCell(one.count)}<td class="n">${exact(one.cost)}</td></tr>`,
    ),
    sumRow(['all', '', '', '', exact(cost)]),
    sumRow([CARRIED, '', '', '', exact(-carried)]),
    sumRow([FIGURE_WORDS.debited, '', '', '', groupedUsd(sums.debited)]),
  ],
)}`;
}

const movements = ({
  movements: all,
  movementsLeftOut,
  withPayments,
}: MonthStatement): Html => html`<h2>${withPayments ? 'Credits, payments and corrections' : 'Credits and corrections'}</h2>
${withPayments ? html`` : html`<p class="dim">${PAYMENTS_LEFT_OUT}</p>`}
${
  all.length === 0
    ? html`<p>None in this month.</p>`
    : table(
        ['written down (UTC)', '#revision', 'what', '#USD'],
        all.map(
          ({ at, revision, what, amount }) =>
            html`<tr>${wordCell(at.slice(0, 19).replace('T', ' '))}${countCell(revision)}${sentenceCell(what)}${amount === null ? textCell('') : amountCell(amount)}</tr>`,
        ),
      )
}
${movementsLeftOut === 0 ? html`` : html`<p class="bad">Not shown here: ${groupedCount(movementsLeftOut)} more, which the account’s stream has.</p>`}`;

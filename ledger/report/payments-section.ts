import { groupedCount, groupedUsd } from '../../contracts/money.ts';
import type { Books } from './books.ts';
import { type Html, html } from './html.ts';
import { PAYMENT_FIGURES, receivedIn } from './payments-book.ts';
import { amountCell, countCell, sentenceCell, sumRow, table, textCell, wordCell } from './tables.ts';

/** What was paid, what went back, and what came to nothing; in sums, and one by one. */
export function paymentsSection({ payments }: Pick<Books, 'payments'>): Html {
  const { sums, notes } = payments;
  const amount = (money: bigint | null): Html => (money === null ? textCell('') : amountCell(money));
  return html`<h2>Payments</h2>
<p>Money, not credits: what was paid, less what went back. Credits that were granted or revoked without a payment are not in it.</p>
${table(
  ['', '#payments', '#USD'],
  [
    ...PAYMENT_FIGURES.map(
      ([figure, words]) =>
        html`<tr>${textCell(words)}${countCell(sums[figure].count)}${amount(sums[figure].money === 0n ? null : sums[figure].money)}</tr>`,
    ),
    sumRow(['received', '', groupedUsd(receivedIn(payments))]),
  ],
)}
${
  notes.all.length === 0
    ? html``
    : table(
        ['when (UTC)', 'account', 'what', '#USD', '#of credits', 'by'],
        notes.all.map(
          ({ at, account, what, money, credits, by }) =>
            html`<tr>${wordCell(at.slice(0, 19).replace('T', ' '))}${textCell(account)}${sentenceCell(what)}${amount(money)}${amount(credits)}${textCell(by)}</tr>`,
        ),
      )
}
${notes.leftOut === 0 ? html`` : html`<p class="bad">Not shown here: ${groupedCount(notes.leftOut)} more, which the accounts’ streams have.</p>`}`;
}

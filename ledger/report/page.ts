import { counted, groupedCount, groupedUsd, PICO_PER_MICRO } from '../../contracts/money.ts';
import { TOKEN_CLASSES } from '../../contracts/usage.ts';
import type { GrantSource } from '../postings/chart-of-accounts.ts';
import { type AccountOfMonth, AGES, agree, type Books, type Liability, sumOf, unfinished } from './books.ts';
import { columnChart, rowChart } from './charts.ts';
import { type Html, html } from './html.ts';
import type { ModelBook } from './model-books.ts';
import { earnedOf, GRANT_SOURCES, type Movements, soldIn, spentBy } from './movements.ts';
import { pageFrame } from './page-frame.ts';
import { paymentsSection } from './payments-section.ts';
import { amountCell, countCell, sentenceCell, sumRow, table, textCell, wordCell } from './tables.ts';

/** The month's books as one page of HTML that loads nothing; everything in it that others have named is escaped. */
export function bookPage(books: Books, madeAt: string): string {
  const title = `Books of ${books.month}${books.product === null ? '' : `, ${books.product}`}`;
  const ledger = books.identity === null ? 'a ledger without an identity' : books.identity.ledgerId;
  const open = unfinished(books.month, madeAt);
  const head = html`<p class="dim">Ledger <code>${ledger}</code>, generation ${books.identity?.generation ?? 1}. From ${books.month}-01 00:00 UTC to
the month’s end, by when each event was written down. Made at ${madeAt} from all of the ledger, ${counted(books.events, 'event')}; of this
month’s books: ${groupedCount(books.eventsOfMonth)}, without those that move nothing (leases, seals and the like). All amounts in USD.</p>
${books.product === null ? html`` : html`<p>Of the accounts of product <b>${books.product}</b> alone.</p>`}
${open === null ? html`` : html`<p class="bad">${open}</p>`}`;
  const sections = [
    ...[
      tiles,
      credits,
      price,
      paymentsSection,
      checks,
      liability,
      models,
      products,
      accounts,
      exceptions,
      reconciliations,
    ],
    seals,
  ];
  return pageFrame(title, [head, ...sections.map((section) => section(books))]);
}

function tiles({ closing, owed, moved, deferredClosing }: Books): Html {
  const all: [string, bigint][] = [
    ['credits sold', soldIn(moved)],
    ['credits spent', spentBy(moved)],
    ['credits expired, less reinstated', moved.expired - moved.reinstated],
    ['outstanding at the end', closing + owed],
    ['paid for and not earned yet', deferredClosing],
    ['earned', earnedOf(moved)],
  ];
  return html`<div class="tiles">
${all.map(([name, amount]) => html`<div class="tile"><b>${groupedUsd(amount)} USD</b><span>${name}</span></div>`)}
</div>`;
}

const SOLD_AS: Readonly<Record<GrantSource, string>> = {
  purchase: 'sold',
  plan: 'of plans',
  trial: 'given as trials',
  promotion: 'given as promotions',
  adjustment: 'given as adjustments',
};

function credits({ opening, closing, moved }: Books): Html {
  const granted = GRANT_SOURCES.map((source) =>
    line(SOLD_AS[source], moved.granted[source].amount, moved.granted[source].count),
  );
  return html`<h2>Credits</h2>
<p>What customers can spend, and what it is worth at the prices they pay. Debits beyond all credits are negative in it.</p>
${table(
  ['', '#grants', '#USD'],
  [
    sumRow(['Opening balance', '', groupedUsd(opening)]),
    ...granted,
    line('reinstated after expiry', moved.reinstated),
    line('spent by requests', -moved.debited),
    line('spent by approved exceptions', -moved.approved),
    line('reversed of either', moved.reversed),
    line('expired', -moved.expired),
    line('revoked', -moved.revoked),
    line('restored after that', moved.restored),
    line('adjusted upwards', moved.adjustedUp),
    line('adjusted downwards', -moved.adjustedDown),
    sumRow(['Closing balance', '', groupedUsd(closing)]),
  ],
)}`;
}

/** The same in what was paid for them. */
function price({ deferredOpening, deferredClosing, moved }: Books): Html {
  return html`<h2>What was paid for them</h2>
<p>Of a grant that was paid in part, what is spent or expires is paid in that proportion; what was paid beyond the credit is
earned at once. These are the accounts of <code>gateway ledger export</code>.</p>
${table(
  ['', '#grants', '#USD'],
  [
    sumRow(['Paid for and not earned, opening', '', groupedUsd(deferredOpening)]),
    ...paidLines(moved),
    line('beyond the credit that it gave', -moved.premium),
    line('earned by usage', -moved.fromPaid),
    line('earned by expiry, less reinstated', -moved.breakage),
    line('for what was owed before, and earned then', -moved.settled),
    line('taken by corrections, less what came back', -moved.taken),
    sumRow(['Paid for and not earned, closing', '', groupedUsd(deferredClosing)]),
  ],
)}
<p>Earned in this month: ${groupedUsd(earnedOf(moved))} USD, of which by usage that no credit covered, and that is owed:
${groupedUsd(moved.owed)} USD. Paid back or disputed: ${groupedUsd(moved.paidBack)} USD. Usage of credits that were given is not in it: ${groupedUsd(moved.fromGiven)} USD.</p>`;
}

const paidLines = ({ granted }: Movements): Html[] =>
  GRANT_SOURCES.filter((source) => granted[source].paid > 0n).map((source) =>
    line(`paid for credits ${SOLD_AS[source]}`, granted[source].paid, granted[source].count),
  );

const line = (name: string, amount: bigint, count?: number): Html =>
  html`<tr>${textCell(name)}${countCell(count ?? null)}${amountCell(amount)}</tr>`;

function checks(books: Books): Html {
  const said = agree(books)
    ? html`<p class="good">All totals of this page agree.</p>`
    : html`<p class="bad">Totals of this page do not agree: do not book from it, and run gateway ledger verify.</p>`;
  return html`<h2>Do the totals agree</h2>
${said}
${table(
  ['total, reached in two ways', '#one', '#other', ''],
  books.checks.map(({ what, one, other }) => {
    const isSame = one === other;
    return html`<tr>${textCell(what)}${amountCell(one)}${amountCell(other)}<td class="w ${isSame ? 'good' : 'bad'}">${isSame ? 'agree' : 'DIFFER'}</td></tr>`;
  }),
)}`;
}

function liability({ liability: lines, owed, month }: Books): Html {
  const bars = AGES.map((age) => ({ label: age, value: remainingOf(lines.filter((line) => line.age === age)) }));
  const total = remainingOf(lines);
  return html`<h2>Outstanding at the end of ${month}</h2>
<p>Credits that can be spent or may be reinstated, by where they came from and how long ago they began. “Ended” is past its
grant’s end and not written off yet: that happens a stated time later.</p>
<figure>${rowChart('Outstanding credits by age', bars)}<figcaption>Outstanding credits by age</figcaption></figure>
${table(
  ['source', 'age', '#grants', '#outstanding', '#of that ended', '#paid for and not earned'],
  [
    ...lines.map(
      ({ source, age, grants, remaining, ended, deferred }) =>
        html`<tr>${textCell(source)}${wordCell(age)}${countCell(grants)}${amountCell(remaining)}${amountCell(ended)}${amountCell(deferred)}</tr>`,
    ),
    sumRow([
      'all',
      '',
      groupedCount(lines.reduce((sum, { grants }) => sum + grants, 0)),
      groupedUsd(total),
      groupedUsd(sumOf(lines, ({ ended }) => ended)),
      groupedUsd(sumOf(lines, ({ deferred }) => deferred)),
    ]),
  ],
)}
<p>Owed by customers, because debits went beyond their credits: ${groupedUsd(owed)} USD. Outstanding less owed is the closing
balance: ${groupedUsd(total - owed)} USD.</p>`;
}

const remainingOf = (lines: readonly Liability[]): bigint => sumOf(lines, ({ remaining }) => remaining);

const MODELS_PLOTTED = 12;
const earned = (model: ModelBook): bigint => model.earned;
const byEarned = (one: ModelBook, other: ModelBook): number =>
  Number(other.earned > one.earned) - Number(other.earned < one.earned);

function models({ models: all, days, month }: Books): Html {
  const plotted = all.toSorted(byEarned).slice(0, MODELS_PLOTTED);
  const rest = sumOf(all, earned) - sumOf(plotted, earned);
  const bars = plotted.map(({ model, lane, earned: value }) => ({
    label: lane === 'fast' ? `${model} (fast)` : model,
    value,
  }));
  if (rest !== 0n) bars.push({ label: 'all others', value: rest });
  const byDay = days.map((value, at) => ({ label: String(at + 1), value }));
  return html`<h2>Revenue by model</h2>
<figure>${columnChart(`Credits spent by day of ${month}`, byDay)}<figcaption>Credits spent by day (UTC)</figcaption></figure>
<figure>${rowChart('Earned by model', bars)}<figcaption>Earned by model: what was paid for, and what is owed</figcaption></figure>
${table(
  ['model', 'lane', '#requests', '#spent', '#from paid credits', '#from given credits', '#owed', '#earned'],
  [
    ...all.map(
      (model) =>
        html`<tr>${textCell(model.model)}${wordCell(model.lane)}${countCell(model.requests)}${amountCell(model.spent)}${amountCell(model.fromPaid)}${amountCell(model.fromGiven)}${amountCell(model.owed)}${amountCell(model.earned)}</tr>`,
    ),
    sumRow([
      'all',
      '',
      groupedCount(all.reduce((sum, { requests }) => sum + requests, 0)),
      ...(['spent', 'fromPaid', 'fromGiven', 'owed', 'earned'] as const).map((field) =>
        groupedUsd(sumOf(all, (model) => model[field])),
      ),
    ]),
  ],
)}
<h3>Tokens by model</h3>
${table(
  ['model', 'lane', '#input', '#output', '#cache read', '#cache write 5 min', '#cache write 1 h'],
  all.map(
    ({ model, lane, tokens }) =>
      html`<tr>${textCell(model)}${wordCell(lane)}${TOKEN_CLASSES.map((tokenClass) => countCell(tokens[tokenClass]))}</tr>`,
  ),
)}`;
}

/** Where there are several: each is billed by itself. */
function products({ products: all }: Books): Html {
  if (all.length < 2) return html``;
  return html`<h2>Products</h2>
<p>Each account is of one product. The books of one alone: <code>gateway ledger report --product</code>.</p>
${table(
  ['product', '#accounts', '#granted', '#spent', '#expired', '#closing balance'],
  [
    ...all.map(
      (one) =>
        html`<tr>${textCell(one.product)}${countCell(one.accounts)}${[one.granted, one.spent, one.expired, one.balance].map(amountCell)}</tr>`,
    ),
    sumRow(['all', groupedCount(all.reduce((sum, { accounts }) => sum + accounts, 0)), ...sumsOf(all)]),
  ],
)}`;
}

type Moved = Pick<AccountOfMonth, 'granted' | 'spent' | 'expired' | 'balance'>;

const sumsOf = (of: readonly Moved[]): string[] =>
  (['granted', 'spent', 'expired', 'balance'] as const).map((field) => groupedUsd(sumOf(of, (one) => one[field])));

const ACCOUNTS_SHOWN = 50;

function accounts({ accounts: all, products: { length: products } }: Books): Html {
  const ofProduct = (name: string): Html[] => (products < 2 ? [] : [textCell(name)]);
  const moved = all
    .filter(({ spent, granted, expired }) => spent !== 0n || granted !== 0n || expired !== 0n)
    .sort(
      (one, other) => Number(other.spent > one.spent) - Number(other.spent < one.spent) || (one.id < other.id ? -1 : 1),
    );
  const shown = moved.slice(0, ACCOUNTS_SHOWN);
  const shownIds = new Set(shown.map(({ id }) => id));
  const others = all.filter(({ id }) => !shownIds.has(id));
  const cells = (one: Moved): bigint[] => [one.granted, one.spent, one.expired, one.balance];
  return html`<h2>Accounts</h2>
<p>Of ${counted(all.length, 'account')} ${groupedCount(moved.length)} had something move; shown are those that spent the most.</p>
${table(
  ['account', 'e-mail', ...(products < 2 ? [] : ['product']), '#granted', '#spent', '#expired', '#closing balance'],
  [
    ...shown.map(
      (one) =>
        html`<tr>${textCell(one.id)}${textCell(one.email)}${ofProduct(one.product)}${cells(one).map(amountCell)}</tr>`,
    ),
    ...(others.length === 0
      ? []
      : [
          html`<tr>${textCell(`${groupedCount(others.length)} others`)}${textCell('')}${ofProduct('')}${sumsOf(others).map(numberCell)}</tr>`,
        ]),
    sumRow(['all', '', ...(products < 2 ? [] : ['']), ...sumsOf(all)]),
  ],
)}`;
}

const numberCell = (text: string): Html => html`<td class="n">${text}</td>`;

function exceptions({ notes, open }: Books): Html {
  const left =
    notes.leftOut === 0
      ? []
      : [
          html`<p class="bad">Not shown here: ${groupedCount(notes.leftOut)} more, which the accounts’ streams have.</p>`,
        ];
  const unpriced = [...notes.unpriced.values()];
  return html`<h2>Exceptions and corrections</h2>
<p>Open at the month’s end: ${counted(open.count, 'exception')} about
${groupedUsd(open.amountPicoUsd / PICO_PER_MICRO)} USD, and ${groupedCount(open.withoutAmount)} without an amount, which nobody has approved or dropped.</p>
${
  notes.all.length === 0
    ? html`<p>None in this month.</p>`
    : table(
        ['when (UTC)', 'account', 'what, and of which request', '#USD', 'why and by whom'],
        notes.all.map(
          ({ at, account, what, requestId, amount, why }) =>
            html`<tr>${wordCell(at.slice(0, 19).replace('T', ' '))}${textCell(account ?? '')}${sentenceCell(what, requestId)}${amount === null ? textCell('') : amountCell(amount)}${textCell(why ?? '')}</tr>`,
        ),
      )
}
${left}
${
  unpriced.length === 0
    ? html``
    : html`<h3>Usage without a price</h3>
${table(
  ['model', 'what', '#requests'],
  unpriced.map(({ model, what, requests }) => html`<tr>${textCell(model)}${textCell(what)}${countCell(requests)}</tr>`),
)}`
}
${notes.unpricedLeftOut === 0 ? html`` : html`<p class="bad">${counted(notes.unpricedLeftOut, 'more request')}, of kinds that are not listed.</p>`}`;
}

function reconciliations({ reconciled, product }: Books): Html {
  if (product !== null)
    return html`<h2>Providers’ reports</h2>
<p>They are about all products: the books of the whole ledger have them.</p>`;
  return html`<h2>Providers’ reports</h2>
${
  reconciled.length === 0
    ? html`<p>None was compared with the ledger in this month.</p>`
    : table(
        [
          'recorded (UTC)',
          'provider',
          'from',
          'to',
          '#matched',
          '#mismatch',
          '#ours only',
          '#theirs only',
          '#our tokens',
          '#their tokens',
        ],
        reconciled.map(
          ({ at, provider, from, to, counts, ours, theirs }) =>
            html`<tr>${wordCell(at.slice(0, 19).replace('T', ' '))}${textCell(provider)}${wordCell(from.slice(0, 10))}${wordCell(to.slice(0, 10))}${[counts.matched, counts.mismatched, counts.oursOnly, counts.theirsOnly, ours, theirs].map(countCell)}</tr>`,
        ),
      )
}`;
}

function seals({ eventsOfMonth, sealedOfMonth, seals: coverage }: Books): Html {
  const { firstSeal, lastSeal, lastSealedAt, keys, hasGap } = coverage;
  const covered =
    coverage.sealedThrough === 0
      ? html`<p>This ledger has no seals: nothing but its own events speaks for it.</p>`
      : html`<p>Sealed of this month’s books: ${groupedCount(sealedOfMonth)} of ${counted(eventsOfMonth, 'event')}. Seals made in the
month: ${firstSeal === null ? 'none' : `${groupedCount(coverage.seals)}, numbers ${firstSeal} to ${lastSeal}, the last at ${lastSealedAt}, by the keys ${[...keys].join(', ')}`}.</p>`;
  const gap = hasGap ? html`<p class="bad">The seals have a gap: what is behind it counts as unsealed.</p>` : html``;
  return html`<h2>Seals</h2>
${[covered, gap]}
<p>That is what the seals say. Whether they hold, <code>gateway ledger verify --seals</code> tells.</p>`;
}

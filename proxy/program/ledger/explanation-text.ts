import {
  type CreditsDebited,
  type EventData,
  isEstimate,
  mayBeEstimated,
  type UsageRecorded,
} from '../../../contracts/events.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { groupedCount, groupedExactUsd, groupedUsd, PICO_PER_MICRO, picoUsd } from '../../../contracts/money.ts';
import { sortedUses } from '../../../contracts/rate-card.ts';
import { TOKEN_CLASSES } from '../../../contracts/usage.ts';
import type { Explanation } from '../../../ledger/statement/explanation.ts';
import type { NamedRateCard } from '../../../ledger/statement/named-rate-card.ts';
import { whyNoDebit } from '../../../ledger/statement/rating-faults.ts';
import {
  GRANT_WORDS,
  OUTCOME_WORDS,
  sentenceOf,
  TOKEN_CLASS_WORDS,
  toTheMs,
} from '../../../ledger/statement/sentences.ts';
import type { CommandContext } from '../command-context.ts';
import { fittingTable, paintedFacts, wrapped } from '../show.ts';

const usd = (amount: bigint): string => `${groupedUsd(amount)} USD`;

export interface Explained extends Explanation {
  readonly accountId: AccountId;
  readonly named: NamedRateCard | string;
}

/**
 * One request, as a person would ask about it: who, when, what, at which prices, from which credits, and what came after. For
 * `writePainted`.
 */
export function explanationText(explained: Explained, context: CommandContext): string {
  return [
    paintedFacts(whoAndWhen(explained), context),
    whatItCost(explained, context),
    paidFrom(explained, context),
    whatCameAfter(explained, context),
    explained.faults.map((fault) => wrapped(`not as it should be: ${fault}`, context, 'red')).join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function whoAndWhen(explained: Explained): [string, string][] {
  const { accountId, account, key, usage } = explained;
  const { requestId, keyId, model, upstream, startedAt, finishedAt, outcome, lane, hold } = usage.data;
  const seconds = (Date.parse(finishedAt) - Date.parse(startedAt)) / 1_000;
  return [
    ['request', requestId],
    ['asked by', `key ${key === null ? keyId : `"${key.name}" (${keyId}, ends in ${key.last4})`}`],
    ['of account', account === null ? accountId : `${accountId} (${account.kind}, ${account.email})`],
    ['model', `${model}, run by ${upstream.provider} as ${upstream.model}`],
    ["provider's id", upstream.requestId ?? 'none was seen'],
    ['started', toTheMs(startedAt)],
    ['ended', `${toTheMs(finishedAt)}, after ${seconds.toFixed(3)} s`],
    ['written down', `${toTheMs(usage.recordedAt)}, revision ${usage.revision}`],
    ['outcome', OUTCOME_WORDS[outcome]],
    ['lane', lane],
    ['usage', usedBy(usage.data)],
    ['hold', hold === null ? 'not kept in records of that time' : `${usd(hold)} at the most was held for it`],
    ...leaseFact(explained),
    ...cardFacts(explained),
  ];
}

function leaseFact({ debit, lease }: Explained): [string, string][] {
  if (debit === null) return [];
  const { leaseId } = debit.data;
  if (leaseId === undefined) return [['lease', "none: one gateway has all of the account's credit"]];
  return [['lease', lease === null ? leaseId : `${leaseId}, of gateway ${lease.proxy}`]];
}

function cardFacts({ usage, named }: Explained): [string, string][] {
  const { id, version, hash } = usage.data.rateCard;
  const card = `${id} version ${version}`;
  if (typeof named === 'string') return [['rate card', `${card} (${hash}): ${named}`]];
  const { rates, fastMultiplier } = named.card;
  const fast =
    usage.data.lane === 'fast' && fastMultiplier !== null ? `, times ${fastMultiplier} in the fast lane` : '';
  return [
    ['rate card', `${card}, published with catalog version ${named.catalogVersion} at ${toTheMs(named.publishedAt)}`],
    ['its hash', hash],
    ...TOKEN_CLASSES.map((name, at): [string, string] => [
      at === 0 ? 'its rates' : '',
      `${groupedUsd(rates[name])} USD a million ${TOKEN_CLASS_WORDS[name]} tokens${fast}`,
    ]),
    ...sortedUses(named.card.uses).map(([name, rate]): [string, string] => [
      '',
      `${groupedExactUsd(picoUsd(rate))} USD a use of ${name}`,
    ]),
  ];
}

function usedBy(usage: UsageRecorded): string {
  if (isEstimate(usage)) return ESTIMATED;
  // Also of before, where the zeros of a provider that said nothing were told as reported.
  const isNone = [...Object.values(usage.tokens), ...Object.values(usage.uses)].every((count) => count === 0);
  if (!isNone || mayBeEstimated(usage.outcome)) return 'as the provider reported it';
  return `none: ${usage.outcome === 'recovered' ? 'its gateway saw none' : 'the provider reported no tokens'}`;
}

const ESTIMATED = "estimated by the gateway, for the provider's count at the end did not come, or cannot be read";

type Row = readonly [what: string, count: string, rate: string, product: string];

function whatItCost(explained: Explained, context: CommandContext): string {
  const { debit, usage } = explained;
  if (debit === null) return undebited(explained, context);
  const { carryBefore, carryAfter, amount, leftOut } = debit.data;
  const table = productsTable(debit.data, context, [
    ['carried from the debit before', '', '', `+${exact(carryBefore)}`],
    ['carried to the next debit', '', '', exact(-carryAfter)],
    ...(leftOut === 0n ? [] : [['beyond its hold, left out', '', '', exact(-leftOut * PICO_PER_MICRO)] as const]),
    ['debited', '', '', exact(amount * PICO_PER_MICRO)],
  ]);
  return [table, ...unpricedLine(usage.data, context)].join('\n');
}

const exact = (value: bigint): string => groupedExactUsd(picoUsd(value));

/** Count times rate of all that was used, their sum, and what follows from it. */
function productsTable(
  { lines, uses, cost }: Pick<CreditsDebited, 'lines' | 'uses' | 'cost'>,
  context: CommandContext,
  rest: readonly Row[] = [],
): string {
  const products = [
    ...lines.map(({ tokenClass, tokens, rate, cost }): Row => {
      const name = `${TOKEN_CLASS_WORDS[tokenClass]} tokens`;
      return [name, groupedCount(tokens), `${groupedUsd(rate)} a million`, exact(cost)];
    }),
    ...uses.map(({ use, count, rate, cost }): Row => [use, groupedCount(count), `${exact(rate)} each`, exact(cost)]),
  ];
  return fittingTable(
    [
      { head: 'what was used', align: 'left' },
      { head: 'count', align: 'right' },
      { head: 'rate (USD)', align: 'right' },
      { head: 'product (USD)', align: 'right' },
    ],
    [...products, ['cost', '', '', exact(cost)], ...rest],
    context,
  );
}

function undebited(explained: Explained, context: CommandContext): string {
  const usage = explained.usage.data;
  const counts = [
    ...TOKEN_CLASSES.filter((name) => usage.tokens[name] > 0).map(
      (name) => `${groupedCount(usage.tokens[name])} ${TOKEN_CLASS_WORDS[name]}`,
    ),
    ...Object.entries(usage.uses).map(([name, count]) => `${groupedCount(count)} ${name}`),
  ];
  const why = whyNoDebit(explained, explained.named);
  return [
    wrapped(`used: ${counts.length === 0 ? 'no tokens' : counts.join(', ')}`, context),
    wrapped(`nothing was debited${why === null ? '' : `: ${why}`}`, context),
    ...unpricedLine(usage, context),
  ].join('\n');
}

const unpricedLine = ({ unpriced }: UsageRecorded, context: CommandContext): string[] =>
  unpriced.length === 0
    ? []
    : [wrapped(`no price for ${unpriced.join(', ')}: billed as standard, or not at all`, context)];

function paidFrom({ debit, grants, balanceBefore, balanceAfter }: Explained, context: CommandContext): string {
  const said =
    balanceBefore === null || balanceAfter === null
      ? 'balance: not known, for events before it cannot be read'
      : `balance: ${usd(balanceBefore)} before, ${usd(balanceAfter)} after`;
  const balance = wrapped(said, context);
  if (debit === null) return balance;
  const { month, monthToDateAfter, keyMonthToDateAfter } = debit.data;
  return [
    sharesTable(debit.data, grants, context),
    balance,
    wrapped(
      `spent in ${month} with it: ${usd(monthToDateAfter)} by the account, ${usd(keyMonthToDateAfter)} by the key`,
      context,
    ),
  ].join('\n');
}

function sharesTable(
  { grants: shares, uncovered }: Pick<CreditsDebited, 'grants' | 'uncovered'>,
  grants: Explanation['grants'],
  context: CommandContext,
): string {
  const rows = shares.map(({ grantId, amount }) => {
    const grant = grants.get(grantId);
    return [
      grantId,
      grant === undefined ? 'a grant that cannot be read' : GRANT_WORDS[grant.source],
      groupedUsd(amount),
    ];
  });
  if (uncovered > 0n) rows.push(['no grant', 'owed: the next credits fill it first', groupedUsd(uncovered)]);
  return fittingTable(
    [
      { head: 'paid from', align: 'left' },
      { head: 'which is', align: 'left' },
      { head: 'amount (USD)', align: 'right' },
    ],
    rows,
    context,
  );
}

function whatCameAfter(explained: Explained, context: CommandContext): string {
  const { usage, debit, late, approved, dropped, thresholds, grants, key, reversals } = explained;
  const keyName = (keyId: string): string => (key?.keyId === keyId ? `"${key.name}"` : keyId);
  const isException = (debit?.data.leftOut ?? 0n) > 0n || late.length > 0 || usage.data.unpriced.length > 0;
  const line = (text: string): string => wrapped(text, context);
  return [
    ...thresholds.map((data) => line(sentenceOf({ type: 'SpendThresholdCrossed', data }, keyName))),
    ...late.flatMap((report) => [
      line(told(report, sentenceOf({ type: 'LateUsageReported', data: report.data }))),
      productsTable(report.data, context),
    ]),
    ...(approved === null
      ? []
      : [
          line(told(approved, sentenceOf({ type: 'ExceptionApproved', data: approved.data }))),
          line(approvedSums(approved.data)),
          sharesTable(approved.data, grants, context),
        ]),
    ...(dropped === null ? [] : [line(told(dropped, sentenceOf({ type: 'ExceptionDropped', data: dropped.data })))]),
    ...reversals.map((one) => line(told(one, reversedSums(one.data)))),
    ...(isException && approved === null && dropped === null
      ? [line('an exception, open until an operator approves or drops it: gateway exception list')]
      : []),
  ].join('\n');
}

const told = ({ recordedAt, revision }: { readonly recordedAt: string; readonly revision: number }, sentence: string) =>
  `${toTheMs(recordedAt)}, revision ${revision}: ${sentence}`;

const reversedSums = (data: EventData<'DebitReversed'>): string =>
  `${usd(data.amount)}: ${sentenceOf({ type: 'DebitReversed', data })}`;

const approvedSums = ({
  cost,
  carryBefore,
  carryAfter,
  amount,
  balanceAfter,
}: EventData<'ExceptionApproved'>): string =>
  `cost ${exact(cost)} USD, carry ${exact(carryBefore)} before and ${exact(carryAfter)} after; ` +
  `debited ${usd(amount)}; balance ${usd(balanceAfter)}`;

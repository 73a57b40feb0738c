import { isDeepStrictEqual } from 'node:util';
import { USUAL_THRESHOLDS } from '../../contracts/limit-events.ts';
import { counted, formatUsd, groupedUsd, microUsd, PICO_PER_MICRO } from '../../contracts/money.ts';
import { NO_PLAN } from '../../contracts/plan.ts';
import { onOneLine } from '../../contracts/printable.ts';
import { usualCost } from '../../ledger/account/usual-cost.ts';
import type { CatalogToDoAgain } from './catalog-to-do-again.ts';
import type { AccountToDoAgain, ToDoAgain } from './to-do-again.ts';

/**
 * As many lines as there are things to do, each with what an operator needs for it.
 *
 * @param typed a command as it is to be typed
 */
export const describeToDoAgain = ({ catalog, accounts }: ToDoAgain, typed: Typed): string[] =>
  [
    ...(catalog === null ? [] : [catalogLine(catalog)]),
    ...accounts.flatMap((lacks) => [
      ...accountLines(lacks, typed),
      ...moneyLines(lacks),
      ...settlesLines(lacks),
      ...grantLines(lacks),
      ...keyLines(lacks),
      ...memberLines(lacks),
      // What went back of a payment ends a plan that is asked for behind it.
      ...planLines(lacks, typed),
      ...paymentLines(lacks),
      ...statementLines(lacks),
      ...limitLines(lacks),
      ...exceptionLines(lacks),
    ]),
  ].map(onOneLine);

/** A command as it is to be typed. */
type Typed = (...command: readonly string[]) => string;

/** Models that one line names: all of them are in the answer for machines. */
const MODELS_NAMED_MAX = 10;

function catalogLine({ was, is, pricesDiffer }: CatalogToDoAgain): string {
  const more = pricesDiffer.length - MODELS_NAMED_MAX;
  const named = pricesDiffer.slice(0, MODELS_NAMED_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '');
  const has = is === null ? 'none' : `version ${is.version}`;
  return (
    `catalog: version ${was.version} was in force, the ledger has ${has}: publish it again; ` +
    (pricesDiffer.length === 0 ? 'prices are the same' : `prices differ of ${named}`)
  );
}

function accountLines(
  { accountId: id, whyAside, account, suspended, isReinstatementLost }: AccountToDoAgain,
  typed: Typed,
): string[] {
  return [
    ...(whyAside === null ? [] : [`account ${id} is set aside (${whyAside}): what of it is lost cannot be told`]),
    ...(account === null ? [] : [accountLine(id, account, typed)]),
    ...(suspended === null ? [] : [`suspension of ${id}: ${JSON.stringify(suspended)}`]),
    ...(isReinstatementLost ? [`reinstatement of ${id}: the ledger has it suspended`] : []),
  ];
}

/** Its product is its own for good. What it was granted has lines of its own, the trial, too. */
function accountLine(
  id: string,
  { kind, email, plan, product }: NonNullable<AccountToDoAgain['account']>,
  typed: Typed,
): string {
  const is = ['--id', id, '--kind', kind, '--email', email, '--product', product, '--trial-usd', '0'];
  const open = typed('gateway', 'account', 'open', ...is);
  return `account ${id} (${kind}, ${email}, plan ${plan}, product ${product}): ${open}`;
}

function moneyLines({ accountId: id, balance, debt, spentThisMonth, settlesByItself }: AccountToDoAgain): string[] {
  const word = settlesByItself === null ? 'it is' : 'it will be';
  const told = [
    [`balance of ${id}`, balance],
    [`debt of ${id}`, debt],
    [`spent by ${id} in ${spentThisMonth?.month}`, spentThisMonth],
  ] as const;
  return told.flatMap(([what, of]) => {
    if (of === null) return [];
    const by = BigInt(of.is) - BigInt(of.was);
    return [`${what}: it was ${usd(of.was)} USD, ${word} ${usd(of.is)} USD (${by > 0n ? '+' : ''}${groupedUsd(by)})`];
  });
}

/** Told where something else of the account is lost: whoever makes that good would do this once more. */
const settlesLines = ({ accountId: id, settlesByItself: settles }: AccountToDoAgain): string[] =>
  settles === null
    ? []
    : [
        `nothing to do for ${counted(settles.requests, 'request')} of ${id} in the journal, settled at the next start: ` +
          `${usd(settles.amount)} USD, which the amounts above have already`,
      ];

const grantLines = ({ accountId: id, grants }: AccountToDoAgain): string[] =>
  grants.map(
    ({ grantId, source, amount, remaining, costBasis, expiresAtMs }) =>
      `grant ${grantId} of ${id}: ${source}, ${usd(amount)} USD${costInWords(source, amount, costBasis)}, ` +
      `${usd(remaining)} of it left, ${until(expiresAtMs)}`,
  );

const costInWords = (source: string, amount: string, cost: string | null): string =>
  cost === null || usualCost(source, microUsd(BigInt(amount))).toString() === cost
    ? ''
    : ` (--cost-usd ${formatUsd(BigInt(cost))})`;

function keyLines({ accountId: id, keys, rotatedKeys }: AccountToDoAgain): string[] {
  const line = ({ keyId, name, last4, member, models, expiresAtMs }: (typeof keys)[number], what: string): string => {
    const forModels = models === null ? 'for all models' : `for ${models.join(', ') || 'no model'}`;
    const whose = member === null ? '' : `, of member ${member}`;
    return `key ${keyId} of ${id} ("${name}", …${last4})${whose}, ${forModels}, ${until(expiresAtMs)}: ${what}`;
  };
  return [
    ...keys.map((key) => line(key, 'issue another one')),
    ...rotatedKeys.map((key) => line(key, 'its rotation is lost, and it is revoked: issue another one')),
  ];
}

const memberLines = ({ accountId: id, members }: AccountToDoAgain): string[] =>
  members.map(({ email, was, is }) => {
    const has = is === null ? 'the ledger does not have them' : `the ledger has them as ${is}`;
    return `member ${email} of ${id}: ${was ?? 'removed'}, ${has}`;
  });

function paymentLines({ accountId: id, payments }: AccountToDoAgain): string[] {
  if (payments === null) return [];
  const { attempts, returned, method, reload } = payments;
  return [
    ...attempts.map(({ attemptId, kind, provider, credits, price, state, paymentId, is }) => {
      const what = `${kind} at ${provider}, ${usd(credits)} USD of credits for ${usd(price)} USD`;
      const paidBy = paymentId === null ? '' : ` (${paymentId})`;
      return `payment ${attemptId} of ${id}: ${what}, ${state}${paidBy}; ${is === null ? 'the ledger has nothing of it' : `the ledger has it ${is}`}`;
    }),
    ...returned.map(
      ({ id: returnId, paymentId, amount, was }) =>
        `${was === 'refunded' || was === 'withdrawn' ? 'refund' : 'dispute'} ${returnId} of ${paymentId} of ${id}: ${usd(amount)} USD, ${was}`,
    ),
    ...(method === null ? [] : [`payment method of ${id}: ${methodInWords(method.was)}`]),
    ...(reload === null ? [] : [`auto-reload of ${id}: ${reloadInWords(reload.was)}`]),
  ];
}

type Lost = NonNullable<AccountToDoAgain['payments']>;

const methodInWords = (method: NonNullable<Lost['method']>['was']): string =>
  method === null ? 'none' : `${method.brand} …${method.last4} at ${method.provider}`;

const reloadInWords = (reload: NonNullable<Lost['reload']>['was']): string =>
  reload === null || reload.consentedAtMs === null
    ? 'off'
    : `at ${usd(reload.threshold)} USD up to ${usd(reload.target)} USD, at most ${usd(reload.monthlyCap)} USD a month`;

function planLines({ accountId: id, plan }: AccountToDoAgain, typed: Typed): string[] {
  if (plan === null) return [];
  const { was, is, ended, isBegunAnew, commands, toBePaid } = plan;
  const why =
    ended === null
      ? ''
      : ` (${ended.plan} has ended: ${ended.reason === 'unpaid' ? 'not paid in time' : ended.reason})`;
  const before = isBegunAnew ? ', which had ended before that was begun' : '';
  const asks = commands.map((command, at) => {
    const isPaid = toBePaid.includes(commands[at - 1]?.at(-1) ?? '');
    return `${at === 0 ? '' : isPaid ? ', then, once that is paid, ' : ', then '}${typed(...command)}`;
  });
  return [
    `plan of ${id}: ${planInWords(was)}${why}; the ledger has ${planInWords(is)}${before}: ${asks.join('')}${chargedInWords(plan)}`,
  ];
}

function chargedInWords({ was, isConfirmed, isChargedAnew, paidBy }: NonNullable<AccountToDoAgain['plan']>): string {
  const by = paidBy.map(({ paymentId, provider }) => `${paymentId} at ${provider}`).join(' and ');
  const isPaid = `, though it is paid ${until(was?.untilMs ?? null)} by ${by}: ask for it then, or pay that back`;
  const words = [
    ...(isConfirmed ? ['what is confirmed is charged no more, and brings its credits'] : []),
    ...(isChargedAnew ? [`what that begins is charged anew${paidBy.length === 0 ? '' : isPaid}`] : []),
  ];
  return words.length === 0 ? '' : ` (${words.join('; ')})`;
}

type Plan = NonNullable<AccountToDoAgain['plan']>['was'];

function planInWords(plan: Plan): string {
  if (plan === null) return NO_PLAN;
  const upgrade = plan.upgrade === null ? '' : `, ${plan.upgrade} once it is paid`;
  if (plan.untilMs === null) return `${plan.plan}${plan.isInForce ? '' : ' once it is paid'}${upgrade}`;
  const paidBack = plan.isPaidBack ? ', paid back' : '';
  const next = plan.next ?? (plan.isPaidBack ? NO_PLAN : 'renewed');
  return `${plan.plan} ${until(plan.untilMs)}${paidBack}, then ${next === NO_PLAN ? 'it ends' : next}${upgrade}`;
}

const statementLines = ({ accountId: id, statement }: AccountToDoAgain): string[] =>
  statement === null
    ? []
    : [`statement of ${id} for ${statement.month}: it was closed with ${usd(statement.closing)} USD, and will be anew`];

const limitLines = ({ accountId: id, limits }: AccountToDoAgain): string[] =>
  limits.map(({ keyId, member, limit, mode, thresholdsPercent: percents }) => {
    const whose = keyId ?? member;
    const of = whose === null ? id : `${whose} of ${id}`;
    if (limit === null) return `limit of ${of}: none`;
    const told = isDeepStrictEqual(percents, USUAL_THRESHOLDS) ? '' : `, told at ${percents.join(', ')}%`;
    return `limit of ${of}: ${usd(limit)} USD a month${mode === 'soft' ? ', soft' : ''}${told}`;
  });

const exceptionLines = ({ accountId: id, exceptions }: AccountToDoAgain): string[] =>
  exceptions.map(({ requestId, was, is, leftOut, late }) => {
    const amounts = [
      ...(leftOut === null ? [] : [`${usd(leftOut)} USD left out`]),
      ...(late === null ? [] : [`${groupedUsd(BigInt(late) / PICO_PER_MICRO)} USD came late`]),
    ];
    return [`exception ${requestId} of ${id}: ${was}`, ...amounts, HAS_EXCEPTION[is]].join(', ');
  });

const HAS_EXCEPTION = {
  open: 'the ledger has it open',
  opens: 'the ledger has it open once the journal is settled, at the next start',
  lost: 'the ledger has nothing of it',
};

const usd = (microUsdText: string): string => groupedUsd(BigInt(microUsdText));

const until = (ms: number | null): string => (ms === null ? 'without end' : `until ${new Date(ms).toISOString()}`);

import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_PRODUCT } from '../../contracts/event-fields.ts';
import {
  type CreditsDebited,
  type DomainEvent,
  type EventData,
  type EventType,
  isEstimate,
  type UsageRecorded,
} from '../../contracts/events.ts';
import { namesPayment } from '../../contracts/ids.ts';
import { USUAL_THRESHOLDS } from '../../contracts/limit-events.ts';
import { counted, groupedCount, groupedUsd } from '../../contracts/money.ts';
import { nameOfActor, SYSTEM } from '../../contracts/permissions.ts';
import { TOKEN_CLASSES, type TokenClass } from '../../contracts/usage.ts';
import { isSameMember } from '../account/members.ts';

/** What a key is called: its name where that is known, else its id. */
export type KeyNames = (keyId: string) => string;
/** @param by who has done it, as the event's metadata have it: ` by grace`; empty where that is not known, or was the gateway itself */
type Sentence<T extends EventType> = (data: EventData<T>, keyName: KeyNames, by: string, isGateway: boolean) => string;

/** An event as a person would say it: one line, without its time. Texts of others stand in it as they are. */
export function sentenceOf(
  event: DomainEvent,
  keyName: KeyNames = (keyId) => keyId,
  actor: string | null = null,
): string {
  const isGateway = isOfGateway(actor);
  const sentence = SENTENCES[event.type] as Sentence<EventType>;
  return sentence(event.data as never, keyName, actor === null || isGateway ? '' : ` by ${actor}`, isGateway);
}

/** What gateways call themselves where nobody has asked for what they do with payments. */
const GATEWAY: ReadonlySet<string> = new Set([nameOfActor(SYSTEM), 'payments']);

export const isOfGateway = (actor: string | null): boolean => actor !== null && GATEWAY.has(actor);

/** How a class of tokens is called in a sentence. */
export const TOKEN_CLASS_WORDS: { readonly [C in TokenClass]: string } = {
  input: 'input',
  output: 'output',
  cacheRead: 'cache read',
  cacheWrite5m: '5-minute cache write',
  cacheWrite1h: '1-hour cache write',
};

export const GRANT_WORDS: { readonly [S in EventData<'CreditsGranted'>['source']]: string } = {
  trial: 'trial credits',
  purchase: 'purchased credits',
  plan: "a plan's credits",
  promotion: 'promotional credits',
  adjustment: 'an adjustment',
};

export const SKIP_WORDS: { readonly [R in EventData<'AutoReloadSkipped'>['reason']]: string } = {
  disabled: 'it is off',
  paused: 'it is paused',
  pending: 'one is under way',
  backoff: 'the last one failed, and it is not time for another',
  cap: 'it would be more than a month may have',
  no_payment_method: 'no payment method is saved',
  suspended: 'the account is suspended',
};

export const OUTCOME_WORDS: { readonly [O in UsageRecorded['outcome']]: string } = {
  completed: 'completed',
  client_disconnected: 'the client left before its end',
  upstream_interrupted: 'cut off by the upstream',
  upstream_refused: 'refused by the upstream',
  recovered: 'lost with its gateway before any usage was seen',
};

/** To the second: "2026-11-05 10:20:30" (UTC). */
export const toTheSecond = (instant: string): string => instant.slice(0, 19).replace('T', ' ');

/** What is out of the ordinary with the usage of a debit, which the debit itself does not say. */
export const notesOn = (usage: UsageRecorded): string[] => [
  ...(usage.outcome === 'completed' ? [] : [OUTCOME_WORDS[usage.outcome]]),
  ...(isEstimate(usage) ? ['estimated'] : []),
  ...(usage.unpriced.length === 0 ? [] : [`no price for ${usage.unpriced.join(', ')}`]),
];

/** To the millisecond, as events have it: "2026-11-05 10:20:30.456 UTC". */
export const toTheMs = (instant: string): string => `${instant.slice(0, -1).replace('T', ' ')} UTC`;

const usd = (amount: bigint): string => `${groupedUsd(amount)} USD`;
export const until = (instant: string | null): string => (instant === null ? '' : `, until ${toTheSecond(instant)}`);

const isUsual = (percents: readonly number[]): boolean => isDeepStrictEqual(percents, USUAL_THRESHOLDS);

/** What comes with an account, a payment or a correction is told there. */
const isByHand = (source: EventData<'CreditsGranted'>['source'], grantId: string): boolean =>
  source === 'promotion' || (source === 'purchase' && !namesPayment(grantId));

function ofLimit({ keyId, member }: Pick<EventData<'SpendLimitSet'>, 'keyId' | 'member'>, keyName: KeyNames): string {
  if (keyId !== null) return `key ${keyName(keyId)}`;
  return member ?? 'the account';
}

const SENTENCES: { readonly [T in EventType]: Sentence<T> } = {
  AccountOpened: ({ kind, email, product }) =>
    `opened as ${kind === 'personal' ? 'a personal account' : 'an organization'} of ${email}` +
    (product === DEFAULT_PRODUCT ? '' : `, for the product ${product}`),
  MemberAdded: ({ email, role, by }) => `${by} added ${email} as ${role}`,
  MemberRoleChanged: ({ email, role, by }) => `${by} made ${email} ${role}`,
  MemberRemoved: ({ email, by }) =>
    `${isSameMember(by, email) ? `${email} left` : `${by} removed ${email}`}; keys of that member, if any, ended with that`,
  ApiKeyIssued: ({ name, last4, models, monthlyLimit, expiresAt, member }, _, by) =>
    [
      `key "${name}" (ends in ${last4}) issued${member === null ? '' : ` to ${member}`}${by}`,
      ...(models === null ? [] : [`for ${models.join(', ')} alone`]),
      ...(monthlyLimit === null ? [] : [`at most ${usd(monthlyLimit)} a month`]),
    ].join(', ') + until(expiresAt),
  ApiKeyRotated: ({ keyId, last4, previousUntil, by }, keyName) =>
    `${by} rotated key ${keyName(keyId)}: its secret ends in ${last4}, and the one before works until ${toTheSecond(previousUntil)}`,
  ApiKeyRevoked: ({ keyId }, keyName, by) => `key ${keyName(keyId)} revoked${by}`,
  PlanChanged: ({ plan, terms }) => {
    if (terms === null) return `plan changed to ${plan}`;
    const what =
      terms.catalogVersion === null ? 'ended the plan' : `asked for plan ${plan} (catalog ${terms.catalogVersion})`;
    return `${terms.by} ${what} from ${toTheSecond(terms.effectiveAt)} on: ${terms.reason}`;
  },
  RenewalStarted: (claim) => {
    const { attemptId, provider, price, credits } = claim;
    const asked = price === 0n ? 'begins, for nothing' : `is to be paid: ${usd(price)} at ${provider}`;
    return `${periodInWords(claim)} ${asked}, for ${usd(credits)} of credits (${attemptId})`;
  },
  PlanEnded: ({ plan, reason }) =>
    reason === 'unpaid'
      ? `plan ${plan} ended: its period was not paid in time`
      : `plan ${plan} ended: that was asked for, or what was paid for it went back`,
  CreditsGranted: ({ source, grantId, costBasis, expiresAt }, _, by) =>
    `${GRANT_WORDS[source]} granted${isByHand(source, grantId) ? by : ''} (${grantId})${costBasis === 0n ? '' : `, ${usd(costBasis)} paid`}${until(expiresAt)}`,
  CreditsExpired: ({ grantId, expiredAt }) => `what was left of ${grantId} has expired at ${toTheSecond(expiredAt)}`,
  CreditsReinstated: ({ grantId, expiresAt, reason, actor }) =>
    `expired credits of ${grantId} given back by ${actor}${until(expiresAt)}: ${reason}`,
  GrantRevoked: ({ revocationId, grantId, cause, paymentId, uncovered, setOff, reason, actor }) =>
    `${actor} revoked credits of ${grantId} (${cause}${paymentId === null ? '' : ` of payment ${paymentId}`}; ${revocationId})` +
    `${owed(uncovered, setOff)}: ${reason}`,
  GrantRestored: ({ revocationId, grantId, reinstated, owedLess, reason, actor }) =>
    `${actor} gave credits of ${grantId} back that were revoked (${revocationId})${backTo(reinstated, owedLess)}: ${reason}`,
  DebitReversed: ({ requestId, reversalId, reinstated, owedLess, reason, actor }) =>
    `${actor} reversed what was debited for ${requestId} (${reversalId})${backTo(reinstated, owedLess)}: ${reason}`,
  BalanceAdjusted: ({ adjustmentId, direction, uncovered, setOff, reason, actor }) =>
    `${actor} adjusted the balance ${direction}wards (${adjustmentId})${owed(uncovered, setOff)}: ${reason}`,
  UsageRecorded: (usage) => {
    const notes = [...notesOn(usage), ...(usage.billable ? [] : ['not charged'])];
    return `${used(
      usage,
      TOKEN_CLASSES.map((tokenClass) => [tokenClass, usage.tokens[tokenClass]]),
      Object.entries(usage.uses),
    )}${inBrackets(notes)}, ${usage.requestId}`;
  },
  CreditsDebited: (debit) => debitSentence(debit, []),
  LateUsageReported: ({ usage, cost, requestId }) =>
    `${used(
      usage,
      TOKEN_CLASSES.map((tokenClass) => [tokenClass, usage.tokens[tokenClass]]),
      Object.entries(usage.uses),
    )}, reported late: ` + `${usd(cost / 1_000_000n)} wait for an operator's decision, ${requestId}`,
  ExceptionApproved: ({ requestId, reason, actor, uncovered }) =>
    `${actor} approved what was left out or came late: ${reason}${owed(uncovered)}, ${requestId}`,
  ExceptionDropped: ({ requestId, amount, reason, actor }) =>
    `${actor} dropped ${usd(amount)} for good, never to be debited: ${reason}, ${requestId}`,
  CreditsLeased: ({ proxy, leaseId, amount, expiresAt }) =>
    `${proxy} ${amount === 0n ? 'renewed' : `set ${usd(amount)} aside under`} lease ${leaseId}${until(expiresAt)}`,
  LeaseReleased: ({ proxy, leaseId, amount }) => `${proxy} gave ${usd(amount)} of lease ${leaseId} back`,
  LeaseNarrowed: ({ proxy, leaseId, keyId, atMost }, keyName) =>
    `${proxy}: key ${keyName(keyId)} takes at most ${usd(atMost)} more of lease ${leaseId}`,
  PaymentMethodSaved: ({ provider, brand, last4, by }) =>
    `${by} saved a payment method at ${provider}: ${brand} xxxx${last4}`,
  PaymentMethodRemoved: ({ provider, by }) => `${by} removed the payment method at ${provider}`,
  PurchaseStarted: ({ attemptId, provider, amount, price, by }) =>
    `${by} began to buy ${usd(amount)} of credits for ${usd(price)} at ${provider} (${attemptId})`,
  PaymentSucceeded: ({ attemptId, provider, paymentId, amount, paidAt }, _, by) =>
    `${usd(amount)} paid at ${provider} at ${toTheSecond(paidAt)} (${paymentId}, ${attemptId})${by === '' ? '' : `, confirmed${by}`}`,
  PaymentFailed: ({ attemptId, code, isTerminal, nextAttemptAt, declinedMethodId }) =>
    `payment failed${isTerminal ? ' for good' : ''}: ${code}` +
    `${declinedMethodId === undefined ? '' : ', of another payment method than it was begun with'}` +
    `${nextAttemptAt === null ? '' : `, not tried again before ${toTheSecond(nextAttemptAt)}`} (${attemptId})`,
  PaymentActionRequired: ({ attemptId, paymentId }) =>
    `the payment waits for whoever pays to confirm it (${paymentId}, ${attemptId})`,
  PaymentAbandoned: ({ attemptId, reason }, _, by) =>
    `nothing was paid${by === '' ? '' : `, ended${by}`}: ${reason} (${attemptId})`,
  PaymentRefunded: ({ paymentId, refundId, amount, reason }, _, ...who) =>
    `${usd(amount)} of ${paymentId} refunded (${refundId})${saidBy(reason, ...who)}`,
  RefundWithdrawn: ({ paymentId, refundId, amount, reason }, _, ...who) =>
    `refund ${refundId} withdrawn: ${usd(amount)} of ${paymentId} did not go back${saidBy(reason, ...who)}`,
  PaymentDisputed: ({ paymentId, disputeId, amount, reason }, _, ...who) =>
    `${usd(amount)} of ${paymentId} disputed by whoever paid (${disputeId})${saidBy(reason, ...who)}`,
  DisputeClosed: ({ disputeId, outcome, replaces, reason }, _, ...who) =>
    `dispute ${disputeId} was ${outcome}${replaces === null ? '' : `, and not ${replaces} as was said before`}${saidBy(reason, ...who)}`,
  AutoReloadConfigured: ({ threshold, target, monthlyCap, consentedAt, by }) =>
    consentedAt === null
      ? `${by} turned auto-reload off`
      : `${by} turned auto-reload on: at ${usd(threshold)} up to ${usd(target)}, at most ${usd(monthlyCap)} a month`,
  AutoReloadStarted: ({ attemptId, provider, amount, price, balance }) =>
    `auto-reload of ${usd(amount)} for ${usd(price)} at ${provider} began with ${usd(balance)} left (${attemptId})`,
  AutoReloadSkipped: ({ reason }) => `no auto-reload: ${SKIP_WORDS[reason]}`,
  AutoReloadPaused: ({ reason }) => `auto-reload paused: ${reason}`,
  StatementClosed: ({ month, opening, closing }) =>
    `statement of ${month} closed: from ${usd(opening)} to ${usd(closing)}`,
  SpendLimitSet: ({ limit, mode, thresholdsPercent, ...scope }, keyName, by) => {
    const whose = `monthly limit of ${ofLimit(scope, keyName)}`;
    if (limit === null) return `${whose} removed${by}`;
    const told = isUsual(thresholdsPercent) ? '' : `, told at ${thresholdsPercent.join('%, ')}%`;
    return `${mode === 'soft' ? 'soft ' : ''}${whose} set${by} to ${usd(limit)}${told}`;
  },
  SpendThresholdCrossed: ({ month, thresholdPercent, limit, spent, ...scope }, keyName) =>
    `${thresholdPercent}% of the monthly limit of ${ofLimit(scope, keyName)} reached: ` +
    `${groupedUsd(spent)} of ${usd(limit)} in ${month}`,
  AccountSuspended: ({ reason }, _, by) => `suspended${by}: ${reason}`,
  AccountReinstated: ({ reason }, _, by) => `suspension ended${by}: ${reason}`,
  CatalogPublished: ({ version, models }) => `catalog version ${version} published, models: ${models.length}`,
  RelayClaimed: ({ relay, epoch, until: end }) => `relay ${relay} publishes from here on (claim ${epoch})${until(end)}`,
  RelayCheckpointed: ({ relay, position }) => `relay ${relay} has published everything up to position ${position}`,
  RelayReleased: ({ relay, epoch }) => `relay ${relay} has stopped in order (claim ${epoch})`,
  ProxyClaimed: ({ proxy, epoch }) => `a gateway has taken the name ${proxy} (claim ${epoch})`,
  LedgerIdentified: ({ ledgerId, generation }) => `this is ledger ${ledgerId}, generation ${generation}`,
  LossAccepted: ({ generation, lost, lostLeftOut, reason, actor }) =>
    `${actor} gave up what was lost of ${counted(lost.length + lostLeftOut, 'stream')}; generation ${generation} begins: ${reason}`,
  LedgerMoved: ({ to, movedAt, actor }) => `${actor} moved the ledger to ${to} at ${toTheSecond(movedAt)}`,
  LedgerSealed: ({ seal, first, count, keyId }) =>
    `seal ${groupedCount(seal)} over the events ${groupedCount(first)} to ${groupedCount(first + count - 1)}, signed by the key ${keyId}`,
  SealKeyIntroduced: ({ keyId, introducedBy }) =>
    `the key ${keyId} signs seals from here on, introduced by ${introducedBy === null ? 'itself' : `the key ${introducedBy}`}`,
  FormsAdopted: ({ forms, reason }) =>
    `events may have newer forms from here on (${Object.entries(forms)
      .map(([type, form]) => `${type} ${form}`)
      .join(', ')}): ${reason}`,
  ProviderReconciled: ({ provider, from, to, counts: { matched, mismatched, oursOnly, theirsOnly } }) =>
    `compared with ${provider}'s report from ${toTheSecond(from)} to ${toTheSecond(to)}: ${groupedCount(matched)} matched, ` +
    `${groupedCount(mismatched)} differ, ${groupedCount(oursOnly)} ours only, ${groupedCount(theirsOnly)} theirs only`,
};

/** With what is known of its usage beside. */
export function debitSentence(debit: CreditsDebited, notes: readonly string[]): string {
  const what = used(
    debit,
    debit.lines.map(({ tokenClass, tokens }) => [tokenClass, tokens]),
    debit.uses.map(({ use, count }) => [use, count]),
  );
  const leftOut = debit.leftOut === 0n ? '' : `, ${usd(debit.leftOut)} beyond its hold left out`;
  return `${what}${inBrackets(notes)}${leftOut}${owed(debit.uncovered)}, ${debit.requestId}`;
}

/** A model with what was used of it: "opal-medium (fast): 1,000 input, 7 output". */
function used(
  { model, lane }: Pick<UsageRecorded, 'model' | 'lane'>,
  tokens: readonly (readonly [TokenClass, number])[],
  uses: readonly (readonly [string, number])[],
): string {
  const counts = [
    ...tokens
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${groupedCount(count)} ${TOKEN_CLASS_WORDS[name]}`),
    ...uses.map(([name, count]) => `${groupedCount(count)} ${name}`),
  ];
  return `${model}${lane === 'fast' ? ' (fast)' : ''}: ${counts.length === 0 ? 'no tokens' : counts.join(', ')}`;
}

/** Who says that money went back, and why: somebody by hand, or the gateway of what the provider tells. */
const saidBy = (reason: string | null, by: string, isGateway: boolean): string =>
  `${isGateway ? ', as its provider tells' : by === '' ? '' : `, written down${by}`}${reason === null ? '' : `: ${reason}`}`;

/** What of a plan is paid for. */
export const periodInWords = ({ kind, plan, periodStart, periodEnd }: EventData<'RenewalStarted'>): string =>
  `${kind === 'renewal' ? 'a period' : 'the rest of a period'} of plan ${plan}, ${toTheSecond(periodStart)} to ${toTheSecond(periodEnd)},`;

/** Where what comes back goes, with the ends that grants have from here on. */
function backTo(reinstated: EventData<'GrantRestored'>['reinstated'], owedLess: bigint): string {
  const grants = reinstated.map(({ grantId, amount, expiresAt }) => `${usd(amount)} to ${grantId}${until(expiresAt)}`);
  return [...(owedLess === 0n ? [] : [`; ${usd(owedLess)} less are owed`]), ...grants.map((one) => `; ${one}`)].join(
    '',
  );
}

/** What is beyond the grants that were meant, less what others have paid of that at once. */
function owed(uncovered: bigint, setOff: EventData<'GrantRevoked'>['setOff'] = []): string {
  const paid = setOff.map(({ grantId, amount }) => `, ${usd(amount)} of it from ${grantId}`).join('');
  const rest = setOff.reduce((left, { amount }) => left - amount, uncovered);
  return rest === 0n ? paid : `${paid}, ${usd(rest)} of it beyond the grants`;
}

const inBrackets = (notes: readonly string[]): string => (notes.length === 0 ? '' : ` (${notes.join('; ')})`);

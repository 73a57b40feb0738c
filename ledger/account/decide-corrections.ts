import type { EventData } from '../../contracts/events.ts';
import type { GrantId } from '../../contracts/ids.ts';
import { instant } from '../../contracts/instant.ts';
import { groupedUsd, type MicroUsd, microUsd } from '../../contracts/money.ts';
import { NOTHING, type OpenAccount } from './account-state.ts';
import type { Revocation } from './billing-state.ts';
import { comingBack } from './coming-back.ts';
import { type CommandOf, commandRefused, type Decision, unreasoned } from './commands.ts';
import { unrestored } from './corrections.ts';
import { endOfException } from './exceptions.ts';
import { isOfPayment, refuseGrantId } from './grant-id.ts';
import { isExpired, payAt, withoutShares } from './grants.ts';
import { valuesOf } from './keyed-tree.ts';
import { creditsGone, isOfReturn } from './payments.ts';
import { haveRoom, sumOf } from './shares-room.ts';
import { monthOfSpend, spentByKey } from './spend.ts';

/** What was paid goes back to whoever paid, spent or not: for the others only what is left can be taken. */
const MAY_OWE: ReadonlySet<EventData<'GrantRevoked'>['cause']> = new Set(['refund', 'dispute']);

/** Takes first what the grant still holds; the rest, where there may be one, is owed, as far as other credits do not pay it at once. */
export function revokeGrant(command: CommandOf<'RevokeGrant'>, state: OpenAccount): Decision {
  const { revocationId, grantId, cause, paymentId, reason, actor, nowMs } = command;
  if (reason.trim() === '') return unreasoned();
  const grant = state.grants.find((one) => one.grantId === grantId);
  // What is over is lost, written down or not.
  const held = grant === undefined || isExpired(grant, nowMs) ? NOTHING : grant.remaining;
  const revocable = revocableOf(state, grantId);
  // It may hold again what was revoked of it: what had expired, and was reinstated.
  const left = microUsd(held < revocable ? held : revocable);
  const known = state.billing.revocations.find((one) => one.revocationId === revocationId);
  if (known !== undefined) {
    const isOf = known.grantId === grantId && known.cause === cause && known.paymentId === paymentId;
    // Once some of it was restored, to take it is another thing.
    const isSo = isOf && known.restored === 0n && isOfAmount(known, command, left);
    return madeBefore(`revocation ${revocationId}`, isSo);
  }
  // What a refund or a dispute takes is decided with it, before it is known.
  if (isOfReturn(state.billing.payments, revocationId))
    return commandRefused('id_reused', `id: ${revocationId} is that of a refund or a dispute of this account`);
  if (grant === undefined) return commandRefused('grant_not_found', `the account has no grant ${grantId}`);
  const amount = command.amount ?? left;
  if (amount <= 0n)
    return commandRefused(
      'invalid_amount',
      `amount: must be more than 0; ${groupedUsd(left)} USD are left of grant ${grantId}`,
    );
  const most = MAY_OWE.has(cause) ? revocable : left;
  if (amount > most)
    return commandRefused(
      'invalid_amount',
      `amount: ${groupedUsd(most)} USD can be revoked of grant ${grantId}, and ${groupedUsd(held)} are left of it`,
    );
  const taken = amount < held ? amount : held;
  const uncovered = microUsd(amount - taken);
  const { now, later } = payAt(withoutShares(state.grants, [{ grantId, amount: taken }]), uncovered, nowMs);
  const revoked: EventData<'GrantRevoked'> = {
    ...{ revocationId, grantId, amount, taken, uncovered, setOff: [...now, ...later], cause, paymentId },
    ...{ revokedAt: instant(nowMs), reason, actor, balanceAfter: microUsd(state.balance - amount) },
  };
  return [{ type: 'GrantRevoked', data: revoked }];
}

/** In the reverse of the order in which it was taken, each part by the same rules as what a debit took (`comingBack`). */
export function restoreGrant(command: CommandOf<'RestoreGrant'>, state: OpenAccount): Decision {
  const { restorationId, revocationId, reason, actor, nowMs } = command;
  if (reason.trim() === '') return unreasoned();
  const known = state.billing.revocations
    .flatMap((one) => one.restorations.map((restoration) => ({ ...restoration, revocationId: one.revocationId })))
    .find((one) => one.restorationId === restorationId);
  const revocation = state.billing.revocations.find((one) => one.revocationId === revocationId);
  if (known !== undefined) {
    const isOf = revocation !== undefined && known.revocationId === revocationId;
    const isSo = isOf && isOfAmount(known, command, restorable(state, revocation).all);
    return madeBefore(`restoration ${restorationId}`, isSo);
  }
  if (revocation === undefined)
    return commandRefused('revocation_not_found', `the account has no revocation ${revocationId}`);
  const { grantId, cause } = revocation;
  const { left, own, all } = restorable(state, revocation);
  const amount = command.amount ?? microUsd(all);
  if (amount <= 0n || amount > all)
    return commandRefused(
      'invalid_amount',
      `amount: of ${groupedUsd(revocation.amount)} USD that were revoked ${groupedUsd(microUsd(own))} have not come back` +
        (all < own
          ? `, and ${groupedUsd(microUsd(all))} of it are still paid for: the money of the rest went back`
          : ''),
    );
  const uncovered = microUsd(amount < left.uncovered ? amount : left.uncovered);
  const shares = [{ grantId, amount: microUsd(amount - uncovered) }];
  const back = comingBack(state, { uncovered, paidBy: left.setOff, shares, revokedOf: grantId }, nowMs);
  if ('code' in back) return back;
  const restored: EventData<'GrantRestored'> = {
    ...{ restorationId, revocationId, grantId, cause, amount, uncovered },
    ...{ owedLess: back.owedLess, setOff: back.setOff, reinstated: back.reinstated },
    ...{ restoredAt: instant(nowMs), reason, actor },
    balanceAfter: microUsd(back.balance + amount),
  };
  return [...back.writtenOff, { type: 'GrantRestored', data: restored }];
}

/** What of a revocation has not come back, and how much of it can. */
function restorable(state: OpenAccount, revocation: Revocation) {
  const left = unrestored(revocation);
  const own = left.uncovered + left.taken;
  const most = MAY_OWE.has(revocation.cause) ? own : stillPaid(state, revocation.grantId);
  return { left, own, all: own < most ? own : most };
}

/**
 * Undoes what a request was debited, and what of it was approved later, from the last of it to the first: each debit by what
 * was not covered, and then its grants from the last.
 */
export function reverseDebit(command: CommandOf<'ReverseDebit'>, state: OpenAccount): Decision {
  const { reversalId, requestId, debits, reason, actor, nowMs } = command;
  if (reason.trim() === '') return unreasoned();
  const known = state.billing.reversals.find((one) => one.reversalId === reversalId);
  const left = leftOfDebits(debits);
  const all = left.reduce((sum, part) => sum + part.amount, 0n);
  if (known !== undefined) {
    // Twice at once, the other is not among what was read.
    const isRead = debits.some(({ type, data }) => type === 'DebitReversed' && data.reversalId === reversalId);
    const rest = isRead ? all : all - known.amount;
    return madeBefore(`reversal ${reversalId}`, known.requestId === requestId && isOfAmount(known, command, rest));
  }
  const debit = debits.findLast(({ type }) => type !== 'DebitReversed')?.data;
  if (debit === undefined)
    return commandRefused('debit_not_found', `request ${requestId} was not debited in this account`);
  if (!areAll(debits, requestId, state))
    return commandRefused('account_changed', `what request ${requestId} was debited has changed meanwhile: try again`);
  const amount = command.amount ?? microUsd(all);
  if (amount <= 0n || amount > all)
    return commandRefused('invalid_amount', `amount: ${groupedUsd(all)} USD of request ${requestId} can be reversed`);
  const { uncovered, shares } = lastOf(left, amount);
  const back = comingBack(state, { uncovered, paidBy: [], shares, revokedOf: null }, nowMs);
  if ('code' in back) return back;
  const { keyId, model, lane, month } = debit;
  const spent = monthOfSpend(state.spend, month);
  const reversed: EventData<'DebitReversed'> = {
    ...{ reversalId, requestId, keyId, model, lane, amount, uncovered: microUsd(uncovered), owedLess: back.owedLess },
    ...{ setOff: back.setOff, reinstated: back.reinstated, reversedAt: instant(nowMs), reason, actor },
    ...{ balanceAfter: microUsd(back.balance + amount), month },
    monthToDateAfter: microUsd(spent.account - amount),
    keyMonthToDateAfter: microUsd(spentByKey(spent, keyId) - amount),
  };
  return [...back.writtenOff, { type: 'DebitReversed', data: reversed }];
}

/** Whoever has read the request's events has read them before the account that this is decided on. */
function areAll(debits: CommandOf<'ReverseDebit'>['debits'], requestId: string, state: OpenAccount): boolean {
  const reversals = debits.filter(({ type }) => type === 'DebitReversed').length;
  const isApproved = endOfException(state.exceptions, requestId) === 'approved';
  return (
    debits.every(({ data }) => data.requestId === requestId) &&
    reversals === state.billing.reversals.filter((one) => one.requestId === requestId).length &&
    isApproved === debits.some(({ type }) => type === 'ExceptionApproved')
  );
}

/** Of a debit: a grant's share, or with null what was not covered. */
interface Part {
  readonly grantId: GrantId | null;
  readonly amount: bigint;
}

/** What of the debits is not reversed, in the order in which it was taken. */
function leftOfDebits(debits: CommandOf<'ReverseDebit'>['debits']): Part[] {
  let left: Part[] = [];
  for (const { type, data } of debits) {
    if (type === 'DebitReversed') left = divided(left, data.amount).before;
    else left = [...left, ...data.grants, { grantId: null, amount: data.uncovered }];
  }
  return left;
}

function lastOf(parts: readonly Part[], amount: bigint) {
  const { last } = divided(parts, amount);
  const shares = last.flatMap((part) =>
    part.grantId === null ? [] : [{ grantId: part.grantId, amount: microUsd(part.amount) }],
  );
  return { uncovered: amount - sumOf(shares), shares };
}

/** The last so much of it, its last part first, and what is before that. */
function divided(parts: readonly Part[], amount: bigint): { readonly before: Part[]; readonly last: Part[] } {
  const [before, last] = [[...parts], [] as Part[]];
  let left = amount;
  for (let part = before.pop(); part !== undefined; part = before.pop()) {
    if (part.amount > left) before.push({ ...part, amount: part.amount - left });
    if (left > 0n) last.push({ ...part, amount: part.amount < left ? part.amount : left });
    left -= part.amount;
    if (left < 0n) break;
  }
  return { before, last: last.filter((part) => part.amount > 0n) };
}

/** Upwards a grant, downwards from what can be spent now; what that does not hold is owed, unless credits of later pay it. */
export function adjustBalance(command: CommandOf<'AdjustBalance'>, state: OpenAccount): Decision {
  const { adjustmentId, direction, amount, reason, actor, nowMs } = command;
  if (reason.trim() === '') return unreasoned();
  const known = state.billing.adjustments.find((one) => one.adjustmentId === adjustmentId);
  if (known !== undefined)
    return madeBefore(`adjustment ${adjustmentId}`, known.direction === direction && isOfAmount(known, command, 0n));
  if (amount <= 0n) return commandRefused('invalid_amount', `${direction}: must be more than 0`);
  const refused = direction === 'up' ? refuseGrantId(state, adjustmentId) : null;
  if (refused !== null) return refused;
  if (
    direction === 'up' &&
    state.uncovered === 0n &&
    !haveRoom([...unspentOf(state), { grantId: adjustmentId, amount }])
  )
    return commandRefused(
      'too_many_grants',
      'the account has as many grants with something left as one debit can name',
    );
  const { now, uncovered, later } = direction === 'up' ? NOT_TAKEN : payAt(state.grants, amount, nowMs);
  const adjusted: EventData<'BalanceAdjusted'> = {
    ...{ adjustmentId, direction, amount, shares: [...now], uncovered, setOff: [...later] },
    ...{ adjustedAt: instant(nowMs), reason, actor },
    balanceAfter: microUsd(direction === 'up' ? state.balance + amount : state.balance - amount),
  };
  return [{ type: 'BalanceAdjusted', data: adjusted }];
}

const NOT_TAKEN = { now: [], uncovered: NOTHING, later: [] } as const;

const unspentOf = ({ grants }: OpenAccount) => grants.filter(({ remaining }) => remaining > 0n);

/** What was revoked of a grant whose money has not gone back otherwise; all of it where nobody paid. */
function stillPaid(state: OpenAccount, grantId: string): bigint {
  const revoked = (state.grants.find((one) => one.grantId === grantId)?.amount ?? 0n) - revocableOf(state, grantId);
  const attempt = valuesOf(state.billing.payments.attempts).find(
    (one) => one.state === 'paid' && one.paymentId !== null && isOfPayment(state, grantId, one.paymentId),
  );
  const paid = attempt === undefined ? revoked : revoked - creditsGone(state.billing, attempt, grantId);
  return paid > 0n ? paid : 0n;
}

/** What a grant gave and nobody has revoked, whether it holds it still or not. */
export function revocableOf({ billing, grants }: OpenAccount, grantId: string): bigint {
  const amount = grants.find((one) => one.grantId === grantId)?.amount ?? 0n;
  return billing.revocations.reduce(
    (left, one) => (one.grantId === grantId ? left - one.amount + one.restored : left),
    BigInt(amount),
  );
}

/** The same correction again is done already; another under its id is none. */
const madeBefore = (what: string, isSame: boolean): Decision =>
  isSame
    ? []
    : commandRefused(
        'id_reused',
        `id: ${what} was made before, and this is another one: a further one has an id of its own`,
      );

interface OfAmount {
  /** Null is all that there was. */
  readonly amount: MicroUsd | null;
}

/** @param left what there is to do still: whoever says no amount means all of it, and it is done once nothing is left */
const isOfAmount = (known: OfAmount, { amount }: OfAmount, left: bigint): boolean =>
  amount === null ? left === 0n : amount === known.amount;

import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { formatUsd, microUsd } from '../../contracts/money.ts';
import { NOTHING, type OpenAccount } from './account-state.ts';
import { comingBack } from './coming-back.ts';
import { type CommandOf, type CommandRefusal, commandRefused } from './commands.ts';
import { unrestored } from './corrections.ts';
import { isExpired } from './grants.ts';

type Decision = AccountEvent[] | CommandRefusal;

/** What was paid goes back to whoever paid, spent or not: for the others only what is left can be taken. */
const MAY_OWE: ReadonlySet<EventData<'GrantRevoked'>['cause']> = new Set(['refund', 'dispute']);

/** Takes first what the grant still holds; the rest, where there may be one, is owed. */
export function revokeGrant(command: CommandOf<'RevokeGrant'>, state: OpenAccount): Decision {
  const { revocationId, grantId, cause, paymentId, reason, actor, nowMs } = command;
  if (reason.trim() === '') return unreasoned();
  const known = state.billing.revocations.find((one) => one.revocationId === revocationId);
  if (known !== undefined)
    return known.grantId === grantId &&
      known.cause === cause &&
      known.paymentId === paymentId &&
      (command.amount ?? known.amount) === known.amount
      ? []
      : commandRefused(
          'id_reused',
          `id: revocation ${revocationId} was made before, and was another one: a further one has an id of its own`,
        );
  const grant = state.grants.find((one) => one.grantId === grantId);
  if (grant === undefined) return commandRefused('grant_not_found', `the account has no grant ${grantId}`);
  // What is over is lost, written down or not.
  const held = isExpired(grant, nowMs) ? NOTHING : grant.remaining;
  const amount = command.amount ?? held;
  if (amount <= 0n)
    return commandRefused(
      'invalid_amount',
      `amount: must be more than 0; ${formatUsd(held)} USD are left of grant ${grantId}`,
    );
  const most = MAY_OWE.has(cause) ? revocableOf(state, grantId) : held;
  if (amount > most)
    return commandRefused(
      'invalid_amount',
      `amount: ${formatUsd(most)} USD can be revoked of grant ${grantId}, and ${formatUsd(held)} are left of it`,
    );
  const taken = amount < held ? amount : held;
  const revoked: EventData<'GrantRevoked'> = {
    ...{ revocationId, grantId, amount, taken, uncovered: microUsd(amount - taken), cause, paymentId },
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
  if (known !== undefined)
    return known.revocationId === revocationId && (command.amount ?? known.amount) === known.amount
      ? []
      : commandRefused(
          'id_reused',
          `id: restoration ${restorationId} was made before, and was another one: a further one has an id of its own`,
        );
  const revocation = state.billing.revocations.find((one) => one.revocationId === revocationId);
  if (revocation === undefined)
    return commandRefused('revocation_not_found', `the account has no revocation ${revocationId}`);
  const left = unrestored(revocation);
  const all = left.uncovered + left.taken;
  const amount = command.amount ?? microUsd(all);
  if (amount <= 0n || amount > all)
    return commandRefused(
      'invalid_amount',
      `amount: of ${formatUsd(revocation.amount)} USD that were revoked ${formatUsd(all)} have not come back`,
    );
  const { grantId, cause } = revocation;
  const uncovered = microUsd(amount < left.uncovered ? amount : left.uncovered);
  const back = comingBack(state, { uncovered, shares: [{ grantId, amount: amount - uncovered }], isHeld: true }, nowMs);
  if ('code' in back) return back;
  const restored: EventData<'GrantRestored'> = {
    ...{ restorationId, revocationId, grantId, cause, amount, uncovered },
    ...{ owedLess: back.owedLess, reinstated: back.reinstated, restoredAt: instant(nowMs), reason, actor },
    balanceAfter: microUsd(back.balance + amount),
  };
  return [...back.writtenOff, { type: 'GrantRestored', data: restored }];
}

/** What a grant gave and nobody has revoked, whether it holds it still or not. */
export function revocableOf({ billing, grants }: OpenAccount, grantId: string): bigint {
  const amount = grants.find((one) => one.grantId === grantId)?.amount ?? 0n;
  return billing.revocations.reduce(
    (left, one) => (one.grantId === grantId ? left - one.amount + one.restored : left),
    BigInt(amount),
  );
}

const unreasoned = (): CommandRefusal => commandRefused('reason_missing', 'reason: say why; it stands in the ledger');

const instant = (ms: number): string => new Date(ms).toISOString();

import { DEFAULT_PRODUCT } from '../../contracts/event-fields.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { instant } from '../../contracts/instant.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { microUsd } from '../../contracts/money.ts';
import type { AccountState, Grant, OpenAccount } from './account-state.ts';
import {
  type AccountCommand,
  accountNotFound,
  type CommandOf,
  commandRefused,
  type Decision,
  unreasoned,
} from './commands.ts';
import { adjustBalance, reverseDebit } from './decide-corrections.ts';
import { approveException, dropException, endExceptions, reportLateUsage } from './decide-exceptions.ts';
import { expireCredits, reinstateCredits } from './decide-expiry.ts';
import { issueKey, revokeKey, rotateKey } from './decide-keys.ts';
import { leaseCredits, narrowLease, releaseLease } from './decide-leases.ts';
import { setSpendLimit } from './decide-limits.ts';
import { addMember, changeMemberRole, removeMember } from './decide-members.ts';
import { closeDispute, restoreByHand, withdrawRefund } from './decide-not-back.ts';
import {
  abandonPayment,
  endPurchase,
  recordPayment,
  recordPaymentFailure,
  removePaymentMethod,
  requirePaymentAction,
  savePaymentMethod,
  startPurchase,
} from './decide-payments.ts';
import { changePlan, endPlan, startRenewal } from './decide-plans.ts';
import { recordDispute, recordRefund, revokeByHand } from './decide-refunds.ts';
import { configureAutoReload, startAutoReload } from './decide-reload.ts';
import { closeStatement } from './decide-statements.ts';
import { refuseGrantId } from './grant-id.ts';
import { refuseWithoutRoom } from './grant-room.ts';
import { recordUsage } from './record-usage.ts';
import type { ToldTo } from './words-for-accounts.ts';

/** Trial credits burn before all others. */
const TRIAL_PRIORITY = 0;

/**
 * Events (none: already so) or a refusal. Pure. A retry is known by its id (account, grant, key).
 * @param to who is told of a refusal
 */
export function decide(command: AccountCommand, state: AccountState, to: ToldTo = 'account'): Decision {
  if (command.type === 'OpenAccount') return openAccount(command, state);
  if (state.type === 'unopened') return accountNotFound();
  switch (command.type) {
    case 'AddMember':
      return addMember(command, state);
    case 'ChangeMemberRole':
      return changeMemberRole(command, state);
    case 'RemoveMember':
      return removeMember(command, state);
    case 'GrantCredits':
      return grantCredits(command, state);
    case 'IssueKey':
      return issueKey(command, state);
    case 'RotateKey':
      return rotateKey(command, state);
    case 'RevokeKey':
      return revokeKey(command, state);
    case 'SetSpendLimit':
      return setSpendLimit(command, state);
    case 'RecordUsage':
      return recordUsage(state, command.usage, command.card, command.leaseId);
    case 'ReportLateUsage':
      return reportLateUsage(command, state);
    case 'ApproveException':
      return approveException(command, state);
    case 'DropException':
      return dropException(command, state);
    case 'EndExceptions':
      return endExceptions(command, state);
    case 'LeaseCredits':
      return leaseCredits(command, state);
    case 'ReleaseLease':
      return releaseLease(command, state);
    case 'NarrowLease':
      return narrowLease(command, state);
    case 'ExpireCredits':
      return expireCredits(command, state);
    case 'ReinstateCredits':
      return reinstateCredits(command, state);
    case 'RevokeGrant':
      return revokeByHand(command, state);
    case 'RestoreGrant':
      return restoreByHand(command, state);
    case 'StartPurchase':
      return startPurchase(command, state);
    case 'RecordPayment':
      return recordPayment(command, state);
    case 'RecordPaymentFailure':
      return recordPaymentFailure(command, state);
    case 'RequirePaymentAction':
      return requirePaymentAction(command, state);
    case 'AbandonPayment':
      return abandonPayment(command, state);
    case 'EndPurchase':
      return endPurchase(command, state);
    case 'SavePaymentMethod':
      return savePaymentMethod(command, state);
    case 'RemovePaymentMethod':
      return removePaymentMethod(command, state);
    case 'RecordRefund':
      return recordRefund(command, state);
    case 'WithdrawRefund':
      return withdrawRefund(command, state);
    case 'RecordDispute':
      return recordDispute(command, state);
    case 'CloseDispute':
      return closeDispute(command, state);
    case 'ConfigureAutoReload':
      return configureAutoReload(command, state);
    case 'ChangePlan':
      return changePlan(command, state, to);
    case 'StartRenewal':
      return startRenewal(command, state);
    case 'EndPlan':
      return endPlan(command, state);
    case 'StartAutoReload':
      return startAutoReload(command, state);
    case 'ReverseDebit':
      return reverseDebit(command, state);
    case 'AdjustBalance':
      return adjustBalance(command, state);
    case 'CloseStatement':
      return closeStatement(command, state);
    case 'SuspendAccount':
    case 'ReinstateAccount':
      return changeSuspension(command, state);
    default:
      return command satisfies never;
  }
}

function changeSuspension(
  { type, reason }: CommandOf<'SuspendAccount' | 'ReinstateAccount'>,
  { suspended }: OpenAccount,
): Decision {
  if (reason.trim() === '') return unreasoned();
  if (type === 'ReinstateAccount')
    return suspended === null
      ? commandRefused('not_suspended', 'the account is not suspended')
      : [{ type: 'AccountReinstated', data: { reason } }];
  return suspended === null
    ? [{ type: 'AccountSuspended', data: { reason } }]
    : commandRefused('already_suspended', `the account is already suspended: ${suspended}`);
}

const instantOrNull = (ms: number | null): string | null => (ms === null ? null : instant(ms));

function openAccount(command: CommandOf<'OpenAccount'>, state: AccountState): Decision {
  if (state.type === 'open')
    return commandRefused('account_exists', `account ${command.accountId} is open since ${instant(state.openedAtMs)}`);
  const { accountId, kind, email, nowMs, product = DEFAULT_PRODUCT } = command;
  const events: AccountEvent[] = [
    { type: 'AccountOpened', data: { accountId, kind, email, openedAt: instant(nowMs), product } },
  ];
  if (command.trial > 0n)
    events.push({
      type: 'CreditsGranted',
      data: {
        grantId: command.trialGrantId,
        source: 'trial',
        amount: command.trial,
        costBasis: microUsd(0n),
        priority: TRIAL_PRIORITY,
        effectiveAt: instant(nowMs),
        expiresAt: instant(nowMs + LIMITS.trialMs),
      },
    });
  return events;
}

function grantCredits(command: CommandOf<'GrantCredits'>, state: OpenAccount): Decision {
  const { grantId, source, amount, costBasis, priority, effectiveAtMs, expiresAtMs } = command;
  if (amount <= 0n) return commandRefused('invalid_amount', 'amount: must be more than 0');
  const taken = refuseGrantId(state, grantId);
  if (taken?.code === 'grant_exists' && isSameAsMade(command, state)) return [];
  if (taken !== null) return taken;
  if (expiresAtMs !== null && expiresAtMs <= effectiveAtMs)
    return commandRefused('invalid_period', 'expiresAt: must be after the grant begins');
  const noRoom = refuseWithoutRoom(state, { grantId, amount });
  if (noRoom !== null) return noRoom;
  const effectiveAt = instant(effectiveAtMs);
  const expiresAt = instantOrNull(expiresAtMs);
  return [{ type: 'CreditsGranted', data: { grantId, source, amount, costBasis, priority, effectiveAt, expiresAt } }];
}

/** The same grant again, whenever it was made; what an adjustment has granted is none. */
function isSameAsMade(
  { grantId, source, amount, costBasis, priority, expiresAtMs }: CommandOf<'GrantCredits'>,
  { grants, billing }: OpenAccount,
): boolean {
  const asked = { source, amount, costBasis, priority, expiresAtMs };
  const isSame = (grant: Grant): boolean =>
    grant.grantId === grantId && ASKED.every((field) => grant[field] === asked[field]);
  return grants.some(isSame) && billing.adjustments.every(({ adjustmentId }) => adjustmentId !== grantId);
}

const ASKED = ['source', 'amount', 'costBasis', 'priority', 'expiresAtMs'] as const;

import type { ReadableLog } from '../../../contracts/event-log.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { instant } from '../../../contracts/instant.ts';
import { groupedExactUsd, groupedUsd, picoUsd } from '../../../contracts/money.ts';
import type { Grant, SpendState } from '../../../ledger/account/account-state.ts';
import { AccountUnreadableError } from '../../../ledger/account/account-unreadable-error.ts';
import { isUsable } from '../../../ledger/account/grants.ts';
import { keyInWords, keyStateAt } from '../../../ledger/account/key-state.ts';
import { recordOf } from '../../../ledger/account/keyed-tree.ts';
import { activeLeases, spendable } from '../../../ledger/account/leases.ts';
import { keysAsIssued, ownerOf } from '../../../ledger/account/members.ts';
import { monthOf } from '../../../ledger/account/month.ts';
import { planSaid } from '../../../ledger/account/plans.ts';
import { monthOfSpend, spentByKey } from '../../../ledger/account/spend.ts';
import { type LimitScope, limitOf } from '../../../ledger/account/spend-limits.ts';
import { toTheSecond } from '../../../ledger/statement/sentences.ts';
import { type AccountAt, stateAt } from '../../../ledger/statement/state-at.ts';
import { type Disorder, describeDisorder, type StreamPlace } from '../../../ledger/statement/stream-range.ts';
import { type CommandCall, type CommandContext, CommandError, EXIT } from '../command-context.ts';
import { fittingTable, paintedFacts, show } from '../show.ts';

/**
 * `gateway ledger replay --at`: what an account was at a place of its stream. @throws CommandError where it was none yet, or where
 * an event up to there cannot follow those before it
 */
export async function showStateAt(
  id: AccountId,
  place: StreamPlace,
  log: ReadableLog,
  { context, command }: CommandCall,
): Promise<void> {
  const { found, disorder } = await stateAt(log, id, place).catch((error: unknown) => {
    if (!(error instanceof AccountUnreadableError)) throw error;
    throw new CommandError(`${id}: not all of its stream can be relied on: ${error.message}`, EXIT.faults);
  });
  context.whenUnread?.(null);
  if (disorder !== null) context.warn(`warning: ${id}: ${describeDisorder(disorder)}\n`);
  if (found === null) throw new CommandError(`${id}: there was no such account at that time`, EXIT.refused);
  if (place.type === 'revision' && found.revision < place.revision)
    throw new CommandError(
      `${id}: there is no revision ${place.revision}: its stream ends with revision ${found.revision}`,
      EXIT.refused,
    );
  show(context, command, {
    json: jsonOf(id, found, disorder),
    text: () => textOf(id, found, context),
    isPainted: true,
  });
}

type StateAt = NonNullable<AccountAt['found']>;

function jsonOf(
  accountId: AccountId,
  { state, revision, recordedAt, atMs }: StateAt,
  disorder: Disorder | null,
): object {
  const month = monthOf(atMs);
  const spent = monthOfSpend(state.spend, month);
  return {
    ...{ accountId, at: instant(atMs), revision, recordedAt, disorder },
    ...{ kind: state.kind, email: ownerOf(state), plan: planSaid(state), suspended: state.suspended },
    balanceMicroUsd: state.balance,
    availableMicroUsd: spendable(state, atMs),
    uncoveredMicroUsd: state.uncovered,
    carryPicoUsd: state.carry,
    grants: state.grants.map(({ grantId, source, amount, remaining, expired, effectiveAtMs, expiresAtMs }) => ({
      ...{ grantId, source, amountMicroUsd: amount, remainingMicroUsd: remaining, expiredMicroUsd: expired },
      ...{ effectiveAt: instant(effectiveAtMs), expiresAt: instantOrNull(expiresAtMs) },
    })),
    limits: {
      ...{ accountMicroUsd: state.spend.accountLimit, keysMicroUsd: recordOf(state.spend.keyLimits) },
      others: state.spend.otherLimits,
    },
    month: { month, accountMicroUsd: spent.account, keysMicroUsd: recordOf(spent.keys) },
    keys: keysAsIssued(state).map(({ keyId, name, last4, revokedAtMs, expiresAtMs }) => ({
      ...{ keyId, name, last4, state: keyStateAt({ revokedAtMs, expiresAtMs }, atMs) },
      ...{ revokedAt: instantOrNull(revokedAtMs), expiresAt: instantOrNull(expiresAtMs) },
    })),
    leases: activeLeases(state, atMs).map(({ leaseId, proxy, keyId, amount, expiresAtMs }) => ({
      ...{ leaseId, proxy, keyId, amountMicroUsd: amount, expiresAt: instant(expiresAtMs) },
    })),
    exceptions: { open: state.exceptions.openCount, openMicroUsd: state.exceptions.openAmount },
  };
}

const instantOrNull = (ms: number | null): string | null => (ms === null ? null : instant(ms));
const usd = (amount: bigint): string => `${groupedUsd(amount)} USD`;
const LEFT = (head: string) => ({ head, align: 'left' }) as const;
const RIGHT = (head: string) => ({ head, align: 'right' }) as const;

function textOf(id: AccountId, { state, revision, recordedAt, atMs }: StateAt, context: CommandContext): string {
  const { balance, carry, uncovered, exceptions, spend } = state;
  const month = monthOf(atMs);
  const spent = monthOfSpend(spend, month);
  const leased = activeLeases(state, atMs).reduce((sum, { amount }) => sum + amount, 0n);
  const head: [string, string][] = [
    ['account', `${id} (${state.kind}, ${ownerOf(state)})`],
    ['at', `${instant(atMs)}, after revision ${revision} (written ${recordedAt})`],
    ['plan', state.suspended === null ? planSaid(state) : `${planSaid(state)}, suspended: ${state.suspended}`],
    ['balance', `${usd(balance)}, and ${groupedExactUsd(picoUsd(carry))} USD carried to the next debit`],
    ['available', `${usd(spendable(state, atMs))}${uncovered === 0n ? '' : `, after ${usd(uncovered)} owed`}`],
    [`spent ${month}`, `${usd(spent.account)}, ${limitIn(spend, { keyId: null, member: null })}`],
    ['leased', `${usd(leased)} of it to gateways, for requests`],
    ['exceptions', `${exceptions.openCount} open, ${usd(exceptions.openAmount)}`],
  ];
  const grants = fittingTable(
    [LEFT('grant'), LEFT('source'), RIGHT('granted (USD)'), RIGHT('left'), RIGHT('expired'), LEFT('usable')],
    state.grants.map((grant) => [
      ...[grant.grantId, grant.source],
      ...[grant.amount, grant.remaining, grant.expired].map(groupedUsd),
      usableWhen(grant, atMs),
    ]),
    context,
  );
  const keys = fittingTable(
    [LEFT('key'), LEFT('name'), LEFT('state'), RIGHT(`spent ${month} (USD)`), LEFT('monthly limit')],
    keysAsIssued(state).map((key) => [
      ...[key.keyId, key.name, keyInWords(key, atMs, (ms) => toTheSecond(instant(ms)))],
      ...[groupedUsd(spentByKey(spent, key.keyId)), limitIn(spend, { keyId: key.keyId, member: null })],
    ]),
    context,
  );
  return [paintedFacts(head, context), `grants, in the order in which they burn:\n${grants}`, `keys:\n${keys}`].join(
    '\n\n',
  );
}

function limitIn(spend: SpendState, scope: LimitScope): string {
  const limit = limitOf(spend, scope);
  if (limit === null) return 'no limit';
  return limit.mode === 'hard' ? `of at most ${usd(limit.limit)}` : `of ${usd(limit.limit)}, soft`;
}

function usableWhen(grant: Grant, atMs: number): string {
  if (grant.effectiveAtMs > atMs) return `from ${toTheSecond(instant(grant.effectiveAtMs))}`;
  if (grant.expiresAtMs === null) return 'always';
  const end = toTheSecond(instant(grant.expiresAtMs));
  return isUsable(grant, atMs) ? `until ${end}` : `over since ${end}`;
}

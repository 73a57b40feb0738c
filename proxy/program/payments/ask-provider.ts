import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { SYSTEM } from '../../../contracts/permissions.ts';
import { attemptOf, openAttempts } from '../../../ledger/account/payments.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { MANUAL_PROVIDER } from '../../../ledger/payments/manual-provider.ts';
import type { PaymentOutcome } from '../../../ledger/payments/payment-provider.ts';
import { commandOfOutcome } from '../../../ledger/payments/record-outcome.ts';
import { readAccount, runAccountCommand } from '../accounts/run-account-command.ts';
import { type CommandContext, CommandError, EXIT } from '../command-context.ts';

interface NamedAttempt {
  readonly accountId: AccountId;
  /** Absent: the one that is open. */
  readonly attemptId?: string | undefined;
}

/** @throws CommandError where there is none, or not one alone is open */
export async function findAttempt(
  context: CommandContext,
  log: EventLog,
  { accountId, attemptId }: NamedAttempt,
): Promise<PaymentAttempt> {
  const { state } = await readAccount(context, log, accountId, 'ListPayments');
  const { payments } = state.billing;
  if (attemptId !== undefined) {
    const attempt = attemptOf(payments, attemptId);
    if (attempt !== undefined) return attempt;
    throw new CommandError(`${accountId}: the account has no payment attempt ${attemptId}`, EXIT.refused);
  }
  const [open, ...others] = openAttempts(payments);
  if (open !== undefined && others.length === 0) return open;
  const why = open === undefined ? 'no payment is open' : 'several payments are open: say which one';
  throw new CommandError(`${accountId}: ${why} (gateway payment list ${accountId})`, EXIT.refused);
}

interface Asked {
  readonly attempt: PaymentAttempt;
  readonly outcome: PaymentOutcome;
  /** Null where nothing new was to be written. */
  readonly recordedAt: string | null;
}

/** Asks the provider what became of an attempt, or to begin it, and writes that down. @throws CommandError */
export async function askProvider(context: CommandContext, log: EventLog, named: NamedAttempt): Promise<Asked> {
  const attempt = await findAttempt(context, log, named);
  const { accountId } = named;
  const { attemptId, provider } = attempt;
  const outcome = await MANUAL_PROVIDER.ask({ accountId, attempt });
  const command = commandOfOutcome(outcome, { attemptId, provider, nowMs: context.clock() });
  if (command === null) return { attempt, outcome, recordedAt: null };
  // The provider says it, whoever has asked.
  const bySystem = { ...context, actor: () => SYSTEM };
  const { recordedAt } = await runAccountCommand(bySystem, log, accountId, command);
  return { attempt, outcome, recordedAt };
}

/** In words, with what to do next. */
export function sayOutcome(accountId: AccountId, outcome: PaymentOutcome): string {
  switch (outcome.type) {
    case 'paid':
      return `paid (${outcome.paymentId})`;
    case 'failed':
      return `failed: ${outcome.code}`;
    case 'action required':
      return 'whoever pays has to confirm it';
    case 'abandoned':
      return `nothing was paid: ${outcome.reason}`;
    case 'waits':
      return outcome.url === null
        ? `waits to be paid\n\nnext, when it is: gateway payment confirm ${accountId}`
        : `to be paid at ${outcome.url}`;
    default:
      return outcome satisfies never;
  }
}

import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { MANUAL } from '../../../contracts/payments-configuration.ts';
import { SYSTEM } from '../../../contracts/permissions.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { methodFor } from '../../../ledger/account/method-for.ts';
import { attemptOf, openAttempts } from '../../../ledger/account/payments.ts';
import type { PaymentAttempt, PaymentsState } from '../../../ledger/account/payments-state.ts';
import { MANUAL_PROVIDER } from '../../../ledger/payments/manual-provider.ts';
import {
  isTelling,
  type PaymentFact,
  type PaymentOutcome,
  type PaymentProvider,
  type TellingProvider,
} from '../../../ledger/payments/payment-provider.ts';
import { recordFacts } from '../../../ledger/payments/record-facts.ts';
import { readAccount, runAccountCommand } from '../accounts/run-account-command.ts';
import { type CommandContext, CommandError, EXIT, recordingOf } from '../command-context.ts';
import { paymentProviderOf } from './payment-provider-of.ts';

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
  return attemptNamed(state.billing.payments, { accountId, attemptId });
}

function attemptNamed(payments: PaymentsState, { accountId, attemptId }: NamedAttempt): PaymentAttempt {
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

/** The provider that is configured. @throws ConfigurationError */
export const configuredProvider = (
  { environment, clock }: CommandContext,
  { log, configuration }: ProvidedLog,
): Promise<PaymentProvider> => paymentProviderOf(configuration, { log, clock, environment });

interface ProvidedLog {
  readonly log: EventLog;
  readonly configuration: Configuration;
}

/** Asks the provider what became of an attempt, or to begin it, and writes that down. @throws CommandError */
export async function askProvider(context: CommandContext, provided: ProvidedLog, named: NamedAttempt): Promise<Asked> {
  const { log } = provided;
  const { accountId } = named;
  const { state } = await readAccount(context, log, accountId, 'ListPayments');
  const attempt = attemptNamed(state.billing.payments, named);
  const { attemptId, provider: name } = attempt;
  const provider = name === MANUAL ? MANUAL_PROVIDER : await configuredProvider(context, provided);
  if (provider.name !== name)
    throw new CommandError(
      `${accountId}: ${attemptId} is of ${name}, and payments.provider of the configuration is ${provider.name}`,
      EXIT.refused,
    );
  if (attempt.state === 'paid' && isTelling(provider)) return askOfPaid(context, log, { accountId, attempt, provider });
  const outcome = await provider
    .ask({ accountId, attempt, method: methodFor(state, attempt) })
    .catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new CommandError(
        `${accountId}: ${attemptId} is open, and what becomes of it is not known: ${why}\n\nask again, which pays nothing twice: gateway payment ask ${accountId} ${attemptId}`,
        EXIT.unavailable,
      );
    });
  const facts: PaymentFact[] = [{ type: 'attempt', attemptId, outcome }];
  return { attempt, outcome, recordedAt: await recordAs(context, log, { accountId, provider: name, facts }) };
}

interface OfPaid {
  readonly accountId: AccountId;
  readonly attempt: PaymentAttempt;
  readonly provider: TellingProvider;
}

/** What became of money that is there: refunds and disputes may have been told while nobody heard. */
async function askOfPaid(
  context: CommandContext,
  log: EventLog,
  { accountId, attempt, provider }: OfPaid,
): Promise<Asked> {
  const known = await provider.factsOf({ kind: provider.kinds.payment, id: attempt.paymentId ?? '' });
  if (known?.accountId !== accountId)
    throw new CommandError(`${accountId}: ${provider.name} knows no ${attempt.paymentId} of it`, EXIT.refused);
  const recordedAt = await recordAs(context, log, { accountId, provider: provider.name, facts: known.facts });
  for (const fact of known.facts)
    if (fact.type === 'attempt' && fact.attemptId === attempt.attemptId)
      return { attempt, outcome: fact.outcome, recordedAt };
  throw new CommandError(`${accountId}: ${attempt.paymentId} is of another attempt`, EXIT.refused);
}

interface Recorded {
  readonly accountId: AccountId;
  readonly provider: string;
  readonly facts: readonly PaymentFact[];
}

/** The provider says it, whoever has asked. @returns when something was written last; null where nothing was @throws CommandError */
export async function recordAs(
  context: CommandContext,
  log: EventLog,
  { accountId, provider, facts }: Recorded,
): Promise<string | null> {
  let writtenAt: string | null = null;
  const bySystem = { ...context, actor: () => SYSTEM };
  const run = async (command: AccountCommand): Promise<{ readonly type: 'done' }> => {
    const { type, recordedAt } = await runAccountCommand(bySystem, log, accountId, command);
    writtenAt = recordedAt ?? writtenAt;
    return { type };
  };
  const { actor } = recordingOf(bySystem);
  await recordFacts(facts, { provider, actor, nowMs: context.clock(), run });
  return writtenAt;
}

/** In words, with what to do next. */
export function sayOutcome(accountId: AccountId, { attempt, outcome }: Pick<Asked, 'attempt' | 'outcome'>): string {
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
      if (outcome.url !== null) return `to be paid at ${outcome.url}`;
      return attempt.provider === MANUAL
        ? `waits to be paid\n\nnext, when it is: gateway payment confirm ${accountId}`
        : `is not decided yet${attempt.kind === 'purchase' ? '' : `; where no card is saved: gateway payment save-method ${accountId}`}`;
    default:
      return outcome satisfies never;
  }
}

import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { MANUAL } from '../../../contracts/payments-configuration.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand, CommandRefusal } from '../../../ledger/account/commands.ts';
import { type CreditsMoved, sayMoved } from '../../../ledger/account/credits-moved.ts';
import type { CommandResult } from '../../../ledger/account/execute-command.ts';
import { loadAccount } from '../../../ledger/account/load-account.ts';
import { attemptOf, claimsIn, openAttempts } from '../../../ledger/account/payments.ts';
import { isOpen, type PaymentAttempt, type PaymentsState } from '../../../ledger/account/payments-state.ts';
import { paysTheSame } from '../../../ledger/account/plans.ts';
import { saveMethodCommand } from '../../../ledger/account/save-method-command.ts';
import { declineAsTold } from '../../../ledger/account/words-for-accounts.ts';
import { askOfAttempt, factsOfOutcome, takerOf } from '../../../ledger/payments/ask-of-attempt.ts';
import { MANUAL_PROVIDER } from '../../../ledger/payments/manual-provider.ts';
import {
  isTelling,
  type PaymentFact,
  type PaymentOutcome,
  type PaymentProvider,
  type TellingProvider,
} from '../../../ledger/payments/payment-provider.ts';
import { recordFacts, recordTold, UnsettledFactsError } from '../../../ledger/payments/record-facts.ts';
import { tryAccountCommand } from '../accounts/run-account-command.ts';
import { bySystem, type CommandContext, CommandError, EXIT, readerOf, recordingOf } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { paymentProviderOf } from './payment-provider-of.ts';
import { type ProvidedLog, readPayer } from './read-payer.ts';

export interface NamedAttempt {
  readonly accountId: AccountId;
  /** Absent: the one that is open. */
  readonly attemptId?: string | undefined;
}

/** @param reading what it is read for @throws CommandError where there is none, or not one alone is open */
export async function findAttempt(
  context: CommandContext,
  provided: ProvidedLog,
  { accountId, attemptId }: NamedAttempt,
  reading: Parameters<typeof readPayer>[3],
): Promise<PaymentAttempt> {
  const state = await readPayer(context, provided, accountId, reading);
  return attemptNamed(context, state.billing.payments, { accountId, attemptId });
}

export function attemptNamed(
  context: CommandContext,
  payments: PaymentsState,
  { accountId, attemptId }: NamedAttempt,
): PaymentAttempt {
  if (attemptId !== undefined) {
    const attempt = attemptOf(payments, attemptId);
    if (attempt !== undefined) return attempt;
    throw new CommandError(`${accountId}: the account has no payment attempt ${attemptId}`, EXIT.refused);
  }
  const [open, ...others] = openAttempts(payments);
  if (open !== undefined && others.length === 0) return open;
  const why = open === undefined ? 'no payment is open' : 'several payments are open: say which one';
  const startedWith = startedWithOf(context);
  // Where its files are is no member's matter.
  const on = readerOf(context) === 'operator' ? startedWith : { ...startedWith, config: null, data: undefined };
  const list = nextCommand(on, 'gateway', 'payment', 'list', accountId);
  throw new CommandError(`${accountId}: ${why} (${list})`, EXIT.refused);
}

interface Asked extends Written {
  readonly attempt: PaymentAttempt;
  /** As it was before anybody was asked. */
  readonly before: OpenAccount;
  /** As it is told. */
  readonly outcome: PaymentOutcome | EndedByHand;
}

/** What became of an attempt that an operator has taken, or ended. */
type EndedByHand =
  | Extract<PaymentOutcome, { readonly type: 'abandoned' }>
  | Omit<Extract<PaymentOutcome, { readonly type: 'paid' }>, 'paidAtMs'>;

export interface Written {
  /** What of it moved credits. */
  readonly moved: readonly CreditsMoved[];
  /** Of what was written last; null where nothing new was to be. */
  readonly recordedAt: string | null;
}

/** The provider that is configured. @throws ConfigurationError */
export const configuredProvider = (
  { environment, clock }: CommandContext,
  { log, configuration }: ProvidedLog,
): Promise<PaymentProvider> => paymentProviderOf(configuration, { log, clock, environment });

/** The same, but of what an operator takes, for which nothing has to be configured. @throws ConfigurationError */
export const providerFor = async (
  context: CommandContext,
  provided: ProvidedLog,
  { provider }: PaymentAttempt,
): Promise<PaymentProvider> => (provider === MANUAL ? MANUAL_PROVIDER : configuredProvider(context, provided));

/**
 * Asks the provider what became of an attempt, or to begin it, and writes that down.
 *
 * @param begunBy where this command has begun it, what it has written @throws CommandError
 */
export async function askProvider(
  context: CommandContext,
  provided: ProvidedLog,
  named: NamedAttempt,
  begunBy: readonly AccountEvent[] = [],
): Promise<Asked> {
  const { log } = provided;
  const { accountId } = named;
  const state = await readPayer(context, provided, accountId, 'ListPayments');
  const attempt = attemptNamed(context, state.billing.payments, named);
  const ended = endedByHand(attempt);
  if (ended !== null) return { attempt, before: state, outcome: ended, recordedAt: null, moved: [] };
  const { attemptId, provider: name } = attempt;
  const configured = await providerFor(context, provided, attempt);
  const provider = takerOf(attempt, configured);
  if (provider === null)
    throw new CommandError(
      `${accountId}: ${attemptId} is of ${name}, and payments.provider of the configuration is ${configured.name}\n\nname ${name} there, or end the payment: ${nextCommand(startedWithOf(context), 'gateway', 'payment', 'decline', accountId, attemptId, '--reason', '"…"')}`,
      EXIT.refused,
    );
  if (attempt.state === 'paid' && isTelling(provider))
    return { before: state, ...(await askOfPaid(context, log, { accountId, attempt, provider })) };
  const isFirst = claimsIn(begunBy).has(attemptId);
  const outcome = await askOfAttempt(provider, accountId, { stateNow: () => state, attempt, isFirst }).catch(
    (error: unknown) => {
      throw untold(context, { accountId, attemptId }, error);
    },
  );
  const written = await recordAnswer(context, log, { accountId, attemptId, provider, outcome });
  return { attempt, before: state, outcome: outcomeAsTold(context, outcome), ...written };
}

interface Answer {
  readonly accountId: AccountId;
  readonly attemptId: PaymentAttempt['attemptId'];
  readonly provider: PaymentProvider;
  readonly outcome: PaymentOutcome;
}

/** Writes down what a provider has said of an attempt, and what became of its money where that was paid. @throws CommandError */
export async function recordAnswer(
  context: CommandContext,
  log: EventLog,
  { accountId, attemptId, provider, outcome }: Answer,
): Promise<Written> {
  const factsNow = () => factsOfOutcome(provider, accountId, { attemptId, outcome });
  const facts = await factsNow().catch((error: unknown) => {
    throw untold(context, { accountId, attemptId }, error);
  });
  const ask = () => answered(accountId, factsNow());
  return recordAs(context, log, { accountId, provider: provider.name, facts, ask });
}

/** The account alone knows it: nobody else could be asked. Null where it is not decided yet, or a provider knows. */
function endedByHand(attempt: PaymentAttempt): EndedByHand | null {
  if (attempt.provider !== MANUAL || isOpen(attempt)) return null;
  const { paymentId, price } = attempt;
  return paymentId === null
    ? { type: 'abandoned', reason: 'it was ended before' }
    : { type: 'paid', paymentId, amount: price };
}

/** What is said where a provider could not tell. */
export function untold(
  context: CommandContext,
  { accountId, attemptId }: Pick<Answer, 'accountId' | 'attemptId'>,
  error: unknown,
): CommandError {
  const why = error instanceof Error ? error.message : String(error);
  return new CommandError(
    `${accountId}: ${attemptId} is open, and what becomes of it is not known: ${why}\n\nask again, which pays nothing twice: ${nextCommand(startedWithOf(context), 'gateway', 'payment', 'ask', accountId, attemptId)}`,
    EXIT.unavailable,
  );
}

interface OfPaid {
  readonly accountId: AccountId;
  readonly attempt: PaymentAttempt;
  readonly provider: TellingProvider;
}

/** What became of money that is there: refunds and disputes may have been told while nobody heard. */
async function askOfPaid(context: CommandContext, log: EventLog, of: OfPaid): Promise<Omit<Asked, 'before'>> {
  const { accountId, attempt, provider } = of;
  const { outcome, facts } = await factsOfPaid(of);
  const ask = async () => (await factsOfPaid(of)).facts;
  const written = await recordAs(context, log, { accountId, provider: provider.name, facts, ask });
  return { attempt, outcome: outcomeAsTold(context, outcome), ...written };
}

/** All that a provider knows of a payment. @throws CommandError where it is none of that attempt's there, or cannot be told */
export async function factsOfPaid({ accountId, attempt, provider }: OfPaid): Promise<{
  readonly outcome: PaymentOutcome;
  readonly facts: readonly PaymentFact[];
}> {
  const about = { kind: provider.kinds.payment, id: attempt.paymentId ?? '' };
  const known = await answered(accountId, provider.factsOf(about));
  if (known?.accountId !== accountId)
    throw new CommandError(`${accountId}: ${provider.name} knows no ${attempt.paymentId} of it`, EXIT.refused);
  const { facts } = known;
  const fact = facts.find((one) => one.type === 'attempt' && paysTheSame(one.attemptId, attempt));
  if (fact?.type !== 'attempt')
    throw new CommandError(`${accountId}: ${attempt.paymentId} is of another attempt`, EXIT.refused);
  return { outcome: fact.outcome, facts };
}

/** What a provider says of something else than what becomes of an attempt that is open. @throws CommandError */
export const answered = <T>(accountId: AccountId, asking: Promise<T>): Promise<T> =>
  asking.catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(`${accountId}: ${why}`, EXIT.unavailable);
  });

interface Recorded {
  readonly accountId: AccountId;
  readonly provider: string;
  readonly facts: readonly PaymentFact[];
  /** All of them, asked anew; absent where they are of what is over as it is. */
  readonly ask?: () => Promise<readonly PaymentFact[]>;
}

/** The provider says it, whoever has asked. What is refused is told once the rest is written, and so is that, where anything fails. @throws CommandError */
export async function recordAs(context: CommandContext, log: EventLog, recorded: Recorded): Promise<Written> {
  const { accountId, provider, facts, ask } = recorded;
  let writtenAt: string | null = null;
  const moved: CreditsMoved[] = [];
  const system = bySystem(context);
  const run = async (command: AccountCommand): Promise<CommandResult> => {
    const result = await tryAccountCommand(system, log, accountId, command);
    if (result.type === 'done') writtenAt = result.recordedAt ?? writtenAt;
    return result;
  };
  const { actor } = recordingOf(system);
  const tell = (one: CreditsMoved): void => void moved.push(one);
  const of = { provider, actor, nowMs: context.clock(), run, tell };
  const state = async () => (await loadAccount(log, accountId)).state;
  try {
    const refusals = await (ask === undefined ? recordFacts(facts, of) : recordTold(facts, { ...of, ask, state }));
    if (refusals.length > 0) throw allRefused(accountId, refusals);
    return { recordedAt: writtenAt, moved };
  } catch (error) {
    if (writtenAt !== null)
      context.warn(
        [`${accountId}: what else ${provider} tells is written, at ${writtenAt}`, ...linesOf(moved), ''].join('\n'),
      );
    if (error instanceof UnsettledFactsError)
      throw new CommandError(`${accountId}: ${error.message}`, EXIT.unavailable);
    throw error;
  }
}

/** Each in a line of its own; a provider's own names are no options. */
const allRefused = (accountId: AccountId, refusals: readonly CommandRefusal[]): CommandError =>
  new CommandError(
    refusals.map(({ message }) => `${accountId}: ${message.replace(/^\w+: /, '')}`).join('\n'),
    EXIT.refused,
  );

/** What became of credits, each in a line. */
export const linesOf = (moved: readonly CreditsMoved[]): string[] => moved.map((one) => `${one.id}: ${sayMoved(one)}`);

/** An outcome, and what became of credits by it. */
export const sayAsked = (context: CommandContext, accountId: AccountId, asked: Omit<Asked, 'before'>): string =>
  [sayOutcome(context, accountId, asked), ...linesOf(asked.moved)].join('\n');

/** The same for programs. */
export const movedAsJson = (moved: readonly CreditsMoved[]): Readonly<Record<string, unknown>>[] =>
  moved.map((one) =>
    one.type === 'back'
      ? { id: one.id, type: one.type, restoredMicroUsd: one.restored }
      : {
          ...{ id: one.id, type: one.type, revokedMicroUsd: one.revoked, setOffMicroUsd: one.setOff },
          ...{ owedMicroUsd: one.owed, notRevokedMicroUsd: one.notRevoked },
        },
  );

/** In the words that whoever gives this command line may be told. */
export const outcomeAsTold = (context: CommandContext, outcome: PaymentOutcome): PaymentOutcome =>
  outcome.type === 'failed' ? declineAsTold(readerOf(context), outcome) : outcome;

/** In words, with what to do next. */
export function sayOutcome(
  context: CommandContext,
  accountId: AccountId,
  { attempt, outcome }: Pick<Asked, 'attempt' | 'outcome'>,
): string {
  switch (outcome.type) {
    case 'paid':
      return `paid (${outcome.paymentId})`;
    case 'failed':
      return `failed: ${outcome.code}${outcome.declinedMethodId === undefined ? '' : ', of another payment method than the saved one'}`;
    case 'action required':
      return 'whoever pays has to confirm it';
    case 'abandoned':
    case 'refused':
      return `nothing was paid: ${outcome.reason}`;
    case 'waits':
      if (outcome.url !== null) return `to be paid at ${outcome.url}`;
      if (attempt.provider === MANUAL)
        return readerOf(context) === 'operator'
          ? `waits to be paid\n\nnext, when it is: ${nextCommand(startedWithOf(context), 'gateway', 'payment', 'confirm', accountId, attempt.attemptId)}`
          : 'waits to be paid, and counts once an operator has confirmed that it was';
      return `is not decided yet${attempt.kind === 'purchase' ? '' : `; where no card is saved: ${nextCommand(startedWithOf(context), ...saveMethodCommand(accountId, attempt.provider))}`}`;
    default:
      return outcome satisfies never;
  }
}

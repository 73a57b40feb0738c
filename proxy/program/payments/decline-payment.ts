import type { Command } from 'commander';
import type { AccountId } from '../../../contracts/ids.ts';
import { formatUsd, groupedUsd, microUsd } from '../../../contracts/money.ts';
import { MANUAL } from '../../../contracts/payments-configuration.ts';
import { NO_PLAN } from '../../../contracts/plan.ts';
import type { BillingState } from '../../../ledger/account/billing-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { isWithdrawn } from '../../../ledger/account/method-for.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { isAnothersDecline, isOpen, mayGoBack } from '../../../ledger/account/payments-state.ts';
import { isAnswered } from '../../../ledger/account/reload.ts';
import { freeRefundId, refundIdOf } from '../../../ledger/account/told-returns.ts';
import { assertAdopted } from '../../../ledger/forms/in-adopted-forms.ts';
import { questionOf, takerOf } from '../../../ledger/payments/ask-of-attempt.ts';
import { assertMayDo, runAccountCommand } from '../accounts/run-account-command.ts';
import { type CommandContext, CommandError, EXIT, withEventLog } from '../command-context.ts';
import { nextCommand, type StartedWith, startedWithOf } from '../next-command.ts';
import { showWritten } from '../show.ts';
import {
  attemptNamed,
  linesOf,
  type NamedAttempt,
  outcomeAsTold,
  providerFor,
  recordAnswer,
  sayOutcome,
  untold,
  type Written,
} from './ask-provider.ts';
import { type ProvidedLog, readPayer } from './read-payer.ts';

/** Ends a payment: first at its provider, where that is the one that is configured; what was paid by then counts. @throws CommandError */
export async function declinePayment(
  context: CommandContext,
  command: Command,
  { reason, ...named }: NamedAttempt & { readonly reason: string },
): Promise<void> {
  await withEventLog(context, command, async (log, configuration) => {
    const { accountId } = named;
    const provided = { log, configuration };
    const state = await readPayer(context, provided, accountId, 'EndPurchase');
    const attempt = attemptNamed(context, state.billing.payments, named);
    const { attemptId, credits } = attempt;
    // Before its provider ends it.
    const configured = await providerFor(context, provided, attempt);
    const taker = isOpen(attempt) ? takerOf(attempt, configured) : null;
    const isUnasked = isOpen(attempt) && taker === null;
    const ending = (): AccountCommand => {
      const what = { attemptId, reason, nowMs: context.clock() };
      return attempt.kind === 'purchase'
        ? { type: 'EndPurchase', ...what, isUnasked }
        : { type: 'AbandonPayment', ...what, endedBy: 'operator' };
    };
    assertMayDo(context, accountId, ending(), state);
    const byOperator =
      attempt.kind === 'purchase' || attempt.provider === MANUAL ? {} : ({ endedBy: 'operator' } as const);
    // Its provider ends nothing of which it cannot be written down by whom.
    if (taker !== null && byOperator.endedBy !== undefined) await assertAdopted(log, 'PaymentAbandoned');
    const question = questionOf(accountId, { stateNow: () => state, attempt, isFirst: false });
    const told = await taker?.withdraw({ ...question, method: () => null, ...byOperator }).catch((error: unknown) => {
      throw untold(context, { accountId, attemptId }, error);
    });
    if (told?.type === 'waits')
      throw new CommandError(`${accountId}: ${attemptId} is being paid, and is not ended any more`, EXIT.refused);
    const isOver = told === undefined || told.type === 'abandoned' || told.type === 'refused';
    const outcome = isOver ? ({ type: 'abandoned', reason } as const) : told;
    const shown = outcomeAsTold(context, outcome);
    const written =
      taker === null || outcome.type === 'abandoned'
        ? { ...(await runAccountCommand(context, log, accountId, ending())), moved: [] }
        : await recordAnswer(context, log, { accountId, attemptId, provider: taker, outcome });
    await assertDeclined(context, provided, { accountId, attemptId, written });
    showWritten(context, command, written.recordedAt, {
      json: { accountId, attemptId, outcome: shown },
      text: `${accountId}: ${attemptId} (${groupedUsd(credits)} USD of credits) ${sayOutcome(context, accountId, { attempt, outcome: shown })}${isUnasked ? notAsked(attempt) : ''}`,
    });
  });
}

const notAsked = ({ provider }: PaymentAttempt): string =>
  `\n\n${provider} was not asked, as the configuration names another provider: end it there, too; what is paid there all the same counts once ${provider} is configured and asked`;

interface Declined extends NamedAttempt {
  /** Now, and not before. */
  readonly written: Written;
}

/** What was paid is not declined any more, nor what was given up before by nobody, or was declined of another card: another of that is begun by itself. @throws CommandError */
async function assertDeclined(
  context: CommandContext,
  provided: ProvidedLog,
  { written, ...named }: Declined,
): Promise<void> {
  const { accountId: id } = named;
  const { billing } = await readPayer(context, provided, id, 'EndPurchase');
  const attempt = attemptNamed(context, billing.payments, named);
  const { attemptId, kind, state, paymentId: paid } = attempt;
  if (state === 'paid')
    throw new CommandError(
      [
        `${id}: ${attemptId} was paid (${paid}); ${onceBack(context, id, attempt, { ...provided, billing, written })}`,
        ...sayWritten(written),
      ].join('\n'),
      EXIT.refused,
    );
  const isAnothers = isAnothersDecline(billing.payments, attempt);
  const isEnded = state === 'abandoned' ? isAnswered(attempt) : !isAnothers;
  const isOver = isEnded || isWithdrawn(billing, attempt);
  const none = kind === 'purchase' || kind === 'upgrade' ? null : BEGINS_NO_MORE[kind];
  if (written.recordedAt !== null || isOver || none === null) return;
  throw new CommandError(
    `${id}: ${attemptId} was ${isAnothers ? 'declined before, of another payment method than the saved one' : 'given up before, with nothing charged, and not by an operator as far as the ledger says'}: another is begun by itself, unless ${none(startedWithOf(context), id)}`,
    EXIT.refused,
  );
}

/** What is refused here was written all the same, with what became of its credits. */
const sayWritten = ({ recordedAt, moved }: Written): string[] =>
  recordedAt === null ? [] : [...linesOf(moved), `written at ${recordedAt}`];

interface Back extends Pick<ProvidedLog, 'configuration'>, Pick<Declined, 'written'> {
  readonly billing: BillingState;
}

/** In words, with the command that takes its credits: whoever is configured tells it itself. */
function onceBack(
  context: CommandContext,
  id: AccountId,
  attempt: PaymentAttempt,
  { configuration: { payments }, billing, written }: Back,
): string {
  const { attemptId, provider, paymentId: paid } = attempt;
  if (paid === null) throw new Error(`${attemptId}: of no payment`);
  const left = mayGoBack(attempt);
  if (left <= 0n) return 'all of it went back, or is disputed: nothing of it is left';
  const refund = (named: readonly string[]): string => {
    const words = ['gateway', 'payment', 'refund', id, paid, '--usd', formatUsd(microUsd(left)), ...named];
    return nextCommand(startedWithOf(context), ...words, '--reason', '"…"');
  };
  // The name that it has where none is said may be taken: by a part that went back already, or by what was withdrawn.
  const free = freeRefundId(billing, paid);
  const named = free === refundIdOf(paid) ? [] : ['--id', free];
  if (provider === MANUAL) return `once the money went back, or where there was none: ${refund(named)}`;
  const isAsked = provider === payments.provider;
  const how = isAsked
    ? nextCommand(startedWithOf(context), 'gateway', 'payment', 'ask', id, attemptId)
    : refund(['--id', 're_…']);
  return `once ${written.moved.length > 0 ? 'more of it' : 'the money'} went back at ${provider}: ${how}`;
}

/** In words, with the command. */
const BEGINS_NO_MORE = {
  reload: (startedWith: StartedWith, id: AccountId) =>
    `auto-reload is off (${nextCommand(startedWith, 'gateway', 'credits', 'auto-reload', id, '--off')})`,
  renewal: (startedWith: StartedWith, id: AccountId) =>
    `the plan ends (${nextCommand(startedWith, 'gateway', 'account', 'plan', id, NO_PLAN)})`,
} as const;

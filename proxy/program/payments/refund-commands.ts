import { type Command, Option } from 'commander';
import { type AccountId, paymentId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd } from '../../../contracts/money.ts';
import { MANUAL } from '../../../contracts/payments-configuration.ts';
import type { BillingState } from '../../../ledger/account/billing-state.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { creditsTaken, sayTaken } from '../../../ledger/account/credits-taken.ts';
import { attemptOf, paidBy } from '../../../ledger/account/payments.ts';
import type { PaymentAttempt, PaymentsState } from '../../../ledger/account/payments-state.ts';
import { refundIdOf, toldDispute, toldRefund } from '../../../ledger/account/told-returns.ts';
import { isTelling, type PaymentFact } from '../../../ledger/payments/payment-provider.ts';
import { endsNowFor } from '../accounts/plan-in-words.ts';
import { accountAfter, runAccountCommand } from '../accounts/run-account-command.ts';
import { accountArgument, nameArgument, reasonArgument, usdArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { showWritten } from '../show.ts';
import { configuredProvider, factsOfPaid } from './ask-provider.ts';
import { planAfter } from './plan-after.ts';
import { type ProvidedLog, readPayer } from './read-payer.ts';

interface RefundOptions {
  readonly reason: string;
  readonly usd: MicroUsd;
  readonly id?: string;
}

interface WithdrawOptions {
  readonly reason: string;
  readonly id: string;
}

interface DisputeOptions extends RefundOptions {
  readonly id: string;
}

interface CloseOptions {
  readonly reason: string;
  readonly id: string;
  readonly outcome: 'won' | 'lost';
}

/** `gateway payment refund|withdraw-refund|dispute|close-dispute`: what became of money that an operator has confirmed. */
export function addRefundCommands(payment: Command, context: CommandContext): void {
  ofPayment(
    payment,
    'refund',
    'write down that money of a payment went back: its credits are revoked, and owed where they are spent',
    '--usd 5 --reason "one month too many"',
  )
    .requiredOption('--usd <amount>', 'how much, in USD', usdArgument)
    .option('--id <refund>', 'it is taken once under it; `refund_<payment>` otherwise', nameArgument)
    .action(
      written(context, ({ usd, id }: RefundOptions, said) => {
        const refundId = id ?? refundIdOf(said.paymentId);
        return {
          command: { type: 'RecordRefund', refundId, amount: usd, refundedAtMs: said.nowMs, ...said },
          what: `${groupedUsd(usd)} USD refunded (${refundId})`,
        };
      }),
    );

  ofPayment(
    payment,
    'withdraw-refund',
    'undo a refund that was written down by mistake: what it took of credits is restored',
    '--id refund_1a2b --reason "nothing went back"',
  )
    .requiredOption('--id <refund>', 'what it is called; `gateway payment list ACCOUNT` shows it', nameArgument)
    .action(
      written(context, ({ id: refundId }: WithdrawOptions, said) => ({
        command: { type: 'WithdrawRefund', refundId, ...said },
        what: `refund ${refundId} withdrawn`,
      })),
    );

  ofPayment(
    payment,
    'dispute',
    'write down that whoever paid disputes a payment: its credits are revoked until it is decided',
    '--usd 20 --id case-7 --reason "the bank took it back"',
  )
    .requiredOption('--usd <amount>', 'how much, in USD', usdArgument)
    .requiredOption('--id <dispute>', 'what it is called', nameArgument)
    .action(
      written(context, ({ usd, id: disputeId }: DisputeOptions, said) => ({
        command: { type: 'RecordDispute', disputeId, amount: usd, openedAtMs: said.nowMs, ...said },
        what: `${groupedUsd(usd)} USD disputed (${disputeId})`,
      })),
    );

  ofPayment(
    payment,
    'close-dispute',
    'write down how a dispute ended, also in place of what was said before: of one that was won what it had taken is restored',
    '--id case-7 --outcome won --reason "the bank gave it back"',
  )
    .requiredOption('--id <dispute>', 'what it is called', nameArgument)
    .addOption(new Option('--outcome <outcome>', 'for us').choices(['won', 'lost']).makeOptionMandatory())
    .action(
      written(context, ({ id: disputeId, outcome }: CloseOptions, said) => ({
        command: { type: 'CloseDispute', disputeId, outcome, closedAtMs: said.nowMs, ...said },
        what: `dispute ${disputeId} was ${outcome}`,
      })),
    );
}

const ofPayment = (payment: Command, word: string, what: string, example: string): Command =>
  payment
    .command(word)
    .description(what)
    .argument('<account>', 'account id', accountArgument)
    .argument('<payment>', 'what the payment is called; `gateway payment list ACCOUNT` shows it', nameArgument)
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument)
    .addHelpText('after', `\nExample:\n  gateway payment ${word} acct_demo "transfer 42" ${example}`);

interface Said {
  readonly paymentId: ReturnType<typeof paymentId>;
  readonly reason: string;
  readonly actor: string;
  readonly nowMs: number;
}

interface Returned {
  readonly command: CommandOf<'RecordRefund' | 'WithdrawRefund' | 'RecordDispute' | 'CloseDispute'>;
  /** In words. */
  readonly what: string;
}

/** The action of each: by hand, of a payment that an operator has confirmed. */
const written =
  <O extends { readonly reason: string; readonly id?: string }>(
    context: CommandContext,
    of: (options: O, said: Said) => Returned,
  ) =>
  async (id: AccountId, named: string, options: O, line: Command): Promise<void> =>
    withEventLog(context, line, async (log, configuration) => {
      const payment = paymentId(named);
      const { actor } = recordingOf(context);
      const said = { paymentId: payment, reason: options.reason, actor, nowMs: context.clock() };
      const { command, what } = of(options, said);
      const state = await readPayer(context, { log, configuration }, id, command.type);
      const { billing } = state;
      const attempt = paidBy(billing.payments, payment);
      const byHand = { accountId: id, billing, named: options.id, command };
      if (attempt === undefined) assertNoAttempt(billing.payments, { accountId: id, named });
      else await assertNotTold(context, { log, configuration }, { attempt, ...byHand });
      const done = await runAccountCommand(context, log, id, command);
      const { recordedAt, events, before } = done;
      const after = accountAfter(done);
      const { balance } = after.type === 'unopened' ? state : after;
      const taken = creditsTaken(events, before);
      const ofPlan =
        after.type === 'unopened'
          ? null
          : planAfter(attempt, { before: state, after, nowMs: said.nowMs, endsNow: endsNowFor(context, id) });
      showWritten(context, line, recordedAt, {
        json: {
          ...{ accountId: id, paymentId: payment, balanceMicroUsd: balance, revokedMicroUsd: taken?.revoked ?? null },
          ...{ owedMicroUsd: taken?.owed ?? null, notRevokedMicroUsd: taken?.notRevoked ?? null },
        },
        text: `${id}: of ${named} ${what}${taken === null ? '' : `, ${sayTaken(taken)}`}; the balance is ${groupedUsd(balance)} USD${ofPlan === null ? '' : `; ${ofPlan}`}`,
      });
    });

/** An attempt is no payment, and has one once it is paid. @throws CommandError */
function assertNoAttempt(
  payments: PaymentsState,
  { accountId, named }: { readonly accountId: AccountId; readonly named: string },
): void {
  const attempt = attemptOf(payments, named);
  if (attempt === undefined) return;
  const { state, paymentId: paid } = attempt;
  const has =
    state === 'paid' ? `the payment that it has is ${JSON.stringify(paid)}` : `it is ${state}, and has no payment`;
  throw new CommandError(`${accountId}: ${named} is an attempt: ${has}`, EXIT.refused);
}

/** What Stripe calls each, as of its documentation (refunds of some methods are `pyr_`, disputes of before `dp_`). */
const NAMED_BY_STRIPE = {
  RecordRefund: { what: 'refund', form: /^(re|pyr)_\w+$/, example: 're_…' },
  RecordDispute: { what: 'dispute', form: /^(du|dp)_\w+$/, example: 'du_…' },
} as const;

interface ByHand {
  readonly accountId: AccountId;
  readonly billing: BillingState;
  readonly attempt: PaymentAttempt;
  readonly named: string | undefined;
  readonly command: Returned['command'];
}

/**
 * What the provider that is configured tells itself is not written down by hand, too: it is asked, and what it does not know so was written
 * by mistake, and is undone. One that is configured no more tells nothing; where it is once more, it tells what has its own ids, and what
 * has one is not taken twice. @throws CommandError
 */
async function assertNotTold(
  context: CommandContext,
  provided: ProvidedLog,
  { accountId: id, billing, attempt, named, command }: ByHand,
): Promise<void> {
  const { attemptId, provider: name, paymentId: paid } = attempt;
  const { type } = command;
  if (name === MANUAL) return;
  const isUndone = type === 'CloseDispute' || type === 'WithdrawRefund';
  if (name === provided.configuration.payments.provider) {
    if (!isUndone) throw new CommandError(`${id}: ${paid} is of ${name}, which tells it itself`, EXIT.refused);
    const provider = await configuredProvider(context, provided);
    if (!isTelling(provider)) return;
    const { facts } = await factsOfPaid({ accountId: id, attempt, provider });
    if (facts.some((fact) => tells(fact, billing, command)))
      throw new CommandError(
        `${id}: ${name} knows ${named} of ${paid}, and tells itself what becomes of it: ${nextCommand(startedWithOf(context), 'gateway', 'payment', 'ask', id, attemptId)}`,
        EXIT.refused,
      );
    return;
  }
  // It is there, under its name.
  if (isUndone) return;
  const { what, form, example } = NAMED_BY_STRIPE[type];
  if (named === undefined || !form.test(named))
    throw new CommandError(
      `${id}: ${paid} is of ${name}, which is configured no more: name the ${what} as ${name} does (--id ${example}), so that it takes nothing twice where ${name} tells it later`,
      EXIT.usage,
    );
}

/** Whether it is of what is to be undone, as that stands here: what has another amount is told once that is undone. */
function tells(fact: PaymentFact, billing: BillingState, command: Returned['command']): boolean {
  if (command.type === 'CloseDispute') {
    if (fact.type !== 'dispute') return false;
    const stands = toldDispute(billing, fact);
    return stands?.disputeId === command.disputeId && fact.amount === stands.amount;
  }
  if (command.type !== 'WithdrawRefund' || (fact.type !== 'refund' && fact.type !== 'failed refund')) return false;
  const stands = toldRefund(billing, fact);
  return stands?.refundId === command.refundId && (fact.type === 'failed refund' || fact.amount === stands.amount);
}

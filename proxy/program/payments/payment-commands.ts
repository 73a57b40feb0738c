import type { Command } from 'commander';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { paymentId } from '../../../contracts/ids.ts';
import { groupedUsd } from '../../../contracts/money.ts';
import { MANUAL } from '../../../contracts/payments-configuration.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { loadAccount } from '../../../ledger/account/load-account.ts';
import { allAttempts, openAttempts } from '../../../ledger/account/payments.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { readInViews } from '../accounts/account-in-views.ts';
import { endsNowFor } from '../accounts/plan-in-words.ts';
import { runAccountCommand } from '../accounts/run-account-command.ts';
import { accountArgument, attemptArgument, nameArgument, reasonArgument } from '../command-arguments.ts';
import {
  actorOf,
  bySystem,
  type CommandContext,
  CommandError,
  configurationOf,
  EXIT,
  withEventLog,
} from '../command-context.ts';
import { withViews } from '../ledger/with-views.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { warnOfNoAccounts } from '../product-words.ts';
import { type ShownRow, showRows, showWritten } from '../show.ts';
import { askProvider, findAttempt, movedAsJson, type NamedAttempt, sayAsked, sayOutcome } from './ask-provider.ts';
import { declinePayment } from './decline-payment.ts';
import { planAfter } from './plan-after.ts';
import { assertOfProduct } from './read-payer.ts';

/** `gateway payment list|confirm|decline|ask`. (`gateway credits purchase` begins one.) */
export function addPaymentCommands(payment: Command, context: CommandContext): void {
  payment
    .command('list')
    .description("list payments that are open, of the configuration's product; of one account all that there were")
    .argument('[account]', 'account id', accountArgument)
    .addHelpText('after', '\nExamples:\n  gateway payment list\n  gateway payment list acct_demo')
    .action(async (only: AccountId | undefined, _options: unknown, command: Command) => {
      if (only === undefined && actorOf(context).type === 'member')
        throw new CommandError('--as: say the account', EXIT.refused);
      const { product } = configurationOf(context, command);
      const { rows, others } = await withViews(context, command, async (accounts, log) => {
        if (only === undefined) {
          return { rows: [...openOf(product, accounts.balance.all())], others: accounts.otherProducts(product) };
        }
        const state = await readInViews(context, accounts, log, { id: only, action: 'ListPayments' });
        assertOfProduct(product, only, state);
        const rows = allAttempts(state.billing.payments).map((attempt) => ({ accountId: only, attempt }));
        return { rows, others: [] };
      });
      warnOfNoAccounts(context, product, others);
      await showRows(context, command, rows, ROW);
    });

  decided(payment, 'confirm', 'write down that a payment was made: its credits are granted')
    .option('--payment <id>', 'what the payment is called elsewhere, as on a bank statement', nameArgument)
    .addHelpText(
      'after',
      '\nOne that was confirmed by mistake is undone by a refund of the whole price: gateway payment refund.' +
        '\n\nExample:\n  gateway payment confirm acct_demo --payment "transfer 2027-0042"',
    )
    .action(async (accountId: AccountId, attemptId: string | undefined, options: ConfirmOptions, command: Command) =>
      confirm(context, command, { accountId, attemptId }, options.payment),
    );

  decided(payment, 'decline', 'end a payment that is open, and write down that it will not be made')
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument)
    .addHelpText(
      'after',
      '\nOne of another provider than the configuration names is ended here alone: look there, too.' +
        '\n\nExample:\n  gateway payment decline acct_demo --reason "invoice cancelled"',
    )
    .action(async (accountId: AccountId, attemptId: string | undefined, { reason }: DeclineOptions, command: Command) =>
      declinePayment(context, command, { accountId, attemptId, reason }),
    );

  decided(payment, 'ask', 'ask the provider what became of a payment, and write that down')
    .addHelpText('after', '\nExample:\n  gateway payment ask acct_demo')
    .action(async (accountId: AccountId, attemptId: string | undefined, _options: unknown, command: Command) =>
      withEventLog(bySystem(context), command, async (log, configuration) => {
        const asked = await askProvider(context, { log, configuration }, { accountId, attemptId });
        const { attempt, outcome, recordedAt } = asked;
        const ofPlan = recordedAt === null ? null : await planSince(context, log, accountId, asked);
        showWritten(context, command, recordedAt, {
          json: { accountId, attemptId: attempt.attemptId, outcome, credits: movedAsJson(asked.moved) },
          text: `${accountId}: ${attempt.attemptId} ${sayAsked(context, accountId, asked)}${ofPlan === null ? '' : `\n${ofPlan}`}`,
        });
      }),
    );
}

/** What became of the account's plan by what was written; null where nothing did. */
async function planSince(
  context: CommandContext,
  log: EventLog,
  accountId: AccountId,
  { attempt, before }: Pick<Awaited<ReturnType<typeof askProvider>>, 'attempt' | 'before'>,
): Promise<string | null> {
  const { state: after } = await loadAccount(log, accountId);
  const shownTo = { nowMs: context.clock(), endsNow: endsNowFor(context, accountId) };
  return after.type === 'unopened' ? null : planAfter(attempt, { before, after, ...shownTo });
}

interface ConfirmOptions {
  readonly payment?: string;
}

interface DeclineOptions {
  readonly reason: string;
}

const decided = (payment: Command, word: string, what: string): Command =>
  payment
    .command(word)
    .description(what)
    .argument('<account>', 'account id', accountArgument)
    .argument('[attempt]', 'the payment; the one that is open otherwise', attemptArgument);

/** What an operator says of a payment of which nobody else could. */
async function confirm(
  context: CommandContext,
  command: Command,
  named: NamedAttempt,
  given: string | undefined,
): Promise<void> {
  await withEventLog(context, command, async (log, configuration) => {
    const { accountId: id } = named;
    const attempt = await findAttempt(context, { log, configuration }, named, 'RecordPayment');
    const { attemptId, provider, price, credits } = attempt;
    if (provider !== MANUAL)
      throw new CommandError(
        `${id}: ${attemptId} is of ${provider}, which alone knows: ${nextCommand(startedWithOf(context), 'gateway', 'payment', 'ask', id, attemptId)}`,
        EXIT.refused,
      );
    const nowMs = context.clock();
    const paid = { paymentId: paymentId(given ?? `${MANUAL}_${attemptId}`), amount: price };
    const recording: AccountCommand = { type: 'RecordPayment', attemptId, provider, ...paid, paidAtMs: nowMs, nowMs };
    const { recordedAt } = await runAccountCommand(context, log, id, recording);
    const outcome = { type: 'paid', ...paid, ...(recordedAt === null ? {} : { paidAtMs: nowMs }) } as const;
    showWritten(context, command, recordedAt, {
      json: { accountId: id, attemptId, outcome },
      text: `${id}: ${attemptId} (${groupedUsd(credits)} USD of credits) ${sayOutcome(context, id, { attempt, outcome })}`,
    });
  });
}

interface ListedPayment {
  readonly accountId: AccountId;
  readonly attempt: PaymentAttempt;
}

type Accounts = Iterable<readonly [AccountId, Pick<OpenAccount, 'billing' | 'organization'>]>;

function* openOf(product: string, accounts: Accounts): Generator<ListedPayment> {
  for (const [accountId, { billing, organization }] of accounts)
    if (organization.product === product)
      for (const attempt of openAttempts(billing.payments)) yield { accountId, attempt };
}

const ROW: ShownRow<ListedPayment> = {
  head: ['account', 'attempt', 'for', 'provider', 'USD credits', 'USD price', 'begun', 'state', 'payment'],
  cells: ({ accountId, attempt: { attemptId, kind, provider, credits, price, startedAtMs, paymentId, ...became } }) => [
    ...[accountId, attemptId, kind, provider, groupedUsd(credits), groupedUsd(price)],
    ...[new Date(startedAtMs).toISOString(), sayState(became), paymentId ?? ''],
  ],
  json: ({ accountId, attempt: { credits, price, startedAtMs, ...attempt } }) => ({
    ...{ accountId, ...attempt, creditsMicroUsd: credits, priceMicroUsd: price },
    startedAt: new Date(startedAtMs).toISOString(),
  }),
};

/** With what went back of it, and its disputes by the names under which they are closed. */
const sayState = ({ state, refunds, disputes }: Pick<PaymentAttempt, 'state' | 'refunds' | 'disputes'>): string =>
  [
    state,
    ...refunds.map(({ refundId, amount }) =>
      amount === 0n ? `refund ${refundId} withdrawn` : `${groupedUsd(amount)} USD refunded (${refundId})`,
    ),
    ...disputes.map(
      ({ disputeId, amount, outcome }) =>
        `${groupedUsd(amount)} USD disputed (${disputeId}), ${outcome === null ? 'open' : outcome}`,
    ),
  ].join('; ');

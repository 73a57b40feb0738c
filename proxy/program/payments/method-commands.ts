import type { Command } from 'commander';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { EventData } from '../../../contracts/events.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { MANUAL } from '../../../contracts/payments-configuration.ts';
import { readAccountEvents } from '../../../ledger/account/load-account.ts';
import type { PaymentsState } from '../../../ledger/account/payments-state.ts';
import { isTelling, type TellingProvider } from '../../../ledger/payments/payment-provider.ts';
import { runAccountCommand } from '../accounts/run-account-command.ts';
import { accountArgument, nameArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { show, showWritten } from '../show.ts';
import { answered, configuredProvider, recordAs } from './ask-provider.ts';
import { type ProvidedLog, readPayer } from './read-payer.ts';

interface MethodOptions {
  readonly id?: string;
  readonly brand?: string;
  readonly last4?: string;
}

/** `gateway payment save-method|remove-method`: what may be charged without its owner being there. */
export function addMethodCommands(payment: Command, context: CommandContext): void {
  payment
    .command('save-method')
    .description(
      'save what an owner has agreed may be charged: on a page of Stripe, or a mandate that is kept elsewhere',
    )
    .argument('<account>', 'account id', accountArgument)
    .option('--id <method>', 'what it is called; with Stripe the page on which the owner has agreed', nameArgument)
    .option('--brand <brand>', 'what it is, without Stripe', nameArgument)
    .option('--last4 <characters>', 'its last four characters, without Stripe', nameArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  gateway payment save-method acct_demo\n  gateway payment save-method acct_demo --id mandate-7 --brand sepa --last4 3000',
    )
    .action(async (id: AccountId, options: MethodOptions, command: Command) =>
      withEventLog(context, command, async (log, configuration) => {
        const provider = await configuredProvider(context, { log, configuration });
        const call = { id, log, configuration, command, context };
        if (!isTelling(provider)) return saveByHand(options, call);
        if (options.brand !== undefined || options.last4 !== undefined)
          throw new CommandError(`--brand, --last4: ${provider.name} says them itself`, EXIT.usage);
        return options.id === undefined ? begin(provider, call) : look(provider, options.id, call);
      }),
    );

  payment
    .command('remove-method')
    .description('nothing may be charged any more without its owner being there')
    .argument('<account>', 'account id', accountArgument)
    .addHelpText('after', '\nExample:\n  gateway payment remove-method acct_demo')
    .action(async (id: AccountId, _options: unknown, command: Command) =>
      withEventLog(context, command, (log, configuration) => remove({ id, log, configuration, command, context })),
    );
}

interface Call extends ProvidedLog {
  readonly id: AccountId;
  readonly command: Command;
  readonly context: CommandContext;
}

async function saveByHand({ id: paymentMethodId, brand, last4 }: MethodOptions, call: Call): Promise<void> {
  const { id, log, context } = call;
  await methodNow(call, 'SavePaymentMethod');
  if (paymentMethodId === undefined || brand === undefined || last4 === undefined)
    throw new CommandError('say --id, --brand and --last4', EXIT.usage);
  if (last4.length !== 4) throw new CommandError('--last4: expected four characters', EXIT.usage);
  const said = { paymentMethodId, brand, last4, provider: MANUAL, customerId: id };
  const consent = { consentedAtMs: context.clock(), by: recordingOf(context).actor };
  const { recordedAt } = await runAccountCommand(context, log, id, { type: 'SavePaymentMethod', ...said, ...consent });
  written(call, recordedAt, `${brand} xxxx${last4} may be charged`);
}

/** Its page is shown to the owner, who alone can agree. */
async function begin(provider: TellingProvider, call: Call): Promise<void> {
  const { id: accountId, context, command } = call;
  const method = await methodNow(call, 'SavePaymentMethod');
  const customerId = method?.provider === provider.name ? method.customerId : null;
  const by = recordingOf(context).actor;
  const page = await answered(accountId, provider.beginMethod({ accountId, by, customerId }));
  show(context, command, {
    json: { accountId, ...page },
    text: `${accountId}: its owner agrees at ${page.url}\n\nnext, when that is done: ${nextCommand(startedWithOf(context), 'gateway', 'payment', 'save-method', accountId, '--id', page.id)}`,
  });
}

async function look(provider: TellingProvider, page: string, call: Call): Promise<void> {
  const { id: accountId, context, log } = call;
  await methodNow(call, 'SavePaymentMethod');
  const known = await answered(accountId, provider.factsOf({ kind: provider.kinds.consent, id: page }));
  const fact = known?.accountId === accountId ? known.facts.find((one) => one.type === 'method') : undefined;
  if (fact === undefined) throw notAgreed(accountId, page);
  const { recordedAt } = await recordAs(context, log, { accountId, provider: provider.name, facts: [fact] });
  const method = await methodNow(call, 'SavePaymentMethod');
  // A consent of before another, or before the method was removed, stands no more.
  if (method?.paymentMethodId !== fact.paymentMethodId) throw notAgreed(accountId, page);
  written(call, recordedAt, `${method.brand} xxxx${method.last4} may be charged`);
}

const notAgreed = (accountId: AccountId, page: string): CommandError =>
  new CommandError(`${accountId}: nothing was agreed to at ${page}, or it may not be charged any more`, EXIT.refused);

async function remove(call: Call): Promise<void> {
  const { id, log, context, configuration } = call;
  await methodNow(call, 'RemovePaymentMethod');
  const by = recordingOf(context).actor;
  const { recordedAt } = await runAccountCommand(context, log, id, {
    type: 'RemovePaymentMethod',
    by,
    nowMs: context.clock(),
  });
  // It is charged no more from here on, whatever becomes of it elsewhere; said again, it is forgotten there if it was not.
  const method = await lastRemoved(log, id);
  if (method !== null && method.provider !== MANUAL) {
    const provider = await configuredProvider(context, { log, configuration });
    if (isTelling(provider) && provider.name === method.provider)
      await provider.forgetMethod(method).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        context.warn(
          `${method.paymentMethodId} is still kept at ${provider.name}, to be removed there, or by this again: ${why}\n`,
        );
      });
  }
  written(call, recordedAt, 'nothing may be charged by itself');
}

/** Null where none ever was. */
async function lastRemoved(log: EventLog, id: AccountId): Promise<EventData<'PaymentMethodRemoved'> | null> {
  let last: EventData<'PaymentMethodRemoved'> | null = null;
  for await (const { event } of readAccountEvents(log, id))
    if (event.type === 'PaymentMethodRemoved') last = event.data;
  return last;
}

/** @throws CommandError for who may not change it */
async function methodNow(
  { id, context, ...provided }: Call,
  change: 'SavePaymentMethod' | 'RemovePaymentMethod',
): Promise<PaymentsState['method']> {
  const state = await readPayer(context, provided, id, change);
  return state.billing.payments.method;
}

const written = ({ id, context, command }: Call, recordedAt: string | null, what: string): void =>
  showWritten(context, command, recordedAt, { json: { accountId: id }, text: `${id}: ${what}` });

import type { Command } from 'commander';
import type { AccountId } from '../../../contracts/ids.ts';
import { MANUAL } from '../../../contracts/payments-configuration.ts';
import { NO_PLAN } from '../../../contracts/plan.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { isWithdrawn } from '../../../ledger/account/method-for.ts';
import { claimsIn, openAttempts } from '../../../ledger/account/payments.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { isBegunForAnother, planSaid } from '../../../ledger/account/plans.ts';
import { saveMethodCommand } from '../../../ledger/account/save-method-command.ts';
import { loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { endsNowFor, planInWords } from '../accounts/plan-in-words.ts';
import { accountAfter, readAccount, runAccountCommand } from '../accounts/run-account-command.ts';
import { accountArgument, nameArgument, reasonArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { showWritten } from '../show.ts';
import { askProvider, configuredProvider, sayAsked } from './ask-provider.ts';
import { type ProvidedLog, readPayer } from './read-payer.ts';

interface PlanOptions {
  readonly reason: string;
  readonly now?: boolean;
}

/** `gateway account plan`: asks for a plan, whose first period is begun with that; `none` ends the one there is. */
export function addAccountPlanCommand(account: Command, context: CommandContext): void {
  account
    .command('plan')
    .description('give an account a plan of the catalog, another one, or none')
    .argument('<account>', 'account id', accountArgument)
    .argument('<plan>', `a plan of the catalog (gateway plan list), or "${NO_PLAN}"`, nameArgument)
    .option('--reason <text>', 'why; it stands in the ledger', reasonArgument, 'as asked for')
    .option('--now', `with "${NO_PLAN}": at once, and not as the period ends`)
    .addHelpText(
      'after',
      '\nA first plan is in force once its first period is paid, and its periods begin on that day of each month. A dearer one that gives' +
        ' more is in force once what it costs more for the rest of the period is paid, by days; any other, and none, as the period ends.' +
        `\n\nExamples:\n  gateway account plan acct_demo team\n  gateway account plan acct_demo ${NO_PLAN} --reason "the project is over"`,
    )
    .action(async (id: AccountId, plan: string, options: PlanOptions, command: Command) => {
      if (options.now === true && plan !== NO_PLAN) throw new CommandError(`--now: of "${NO_PLAN}" alone`, EXIT.usage);
      await withEventLog(context, command, (log, configuration) =>
        changePlan(id, plan, options, { log, configuration, command, context }),
      );
    });
}

interface Call extends ProvidedLog {
  readonly command: Command;
  readonly context: CommandContext;
}

async function changePlan(id: AccountId, plan: string, { reason, now }: PlanOptions, call: Call): Promise<void> {
  const { log, configuration, context } = call;
  const nowMs = context.clock();
  const { actor: by } = recordingOf(context);
  const catalog = await loadCatalog(log);
  await readPayer(context, { log, configuration }, id, now === true ? 'EndPlan' : 'ChangePlan');
  // Before anything is claimed: its secrets may be missing.
  const { name: provider } = await configuredProvider(context, { log, configuration });
  if (now === true) return tell(call, await carriedOut(id, { type: 'EndPlan', reason, by, nowMs }, provider, call));
  const asked = { type: 'ChangePlan', plan, catalog, provider, reason, by, nowMs } as const;
  const done = await carriedOut(id, asked, provider, call);
  if (plan === NO_PLAN || (done.hasPlan && !done.isToBegin)) return tell(call, done);
  // It was not paid in time, and has ended by that alone, or another's renewal was open: it begins anew for who asks for it.
  const again = await carriedOut(id, asked, provider, call).catch((error: unknown) => {
    context.warn(`${done.text}\nwritten at ${done.recordedAt}\n`);
    throw error;
  });
  tell(call, { ...again, text: `${done.isToBegin ? done.given : done.text}\n${again.text}` });
}

type Changing = Extract<AccountCommand, { readonly type: 'ChangePlan' | 'EndPlan' }>;
type Changed = Awaited<ReturnType<typeof carriedOut>>;

const tell = ({ context, command }: Call, { recordedAt, json, text }: Changed): void =>
  showWritten(context, command, recordedAt, { json, text });

/** With what is to be paid for it now, and what is not any more. */
async function carriedOut(id: AccountId, asked: Changing, provider: string, call: Call) {
  const { log, configuration, context } = call;
  const done = await runAccountCommand(context, log, id, asked);
  const { events, recordedAt } = done;
  const after = accountAfter(done);
  if (after.type === 'unopened') throw new Error(`${id} has a plan, and is not open`);
  const { billing } = after;
  const [attemptId = null] = claimsIn(events);
  const ask = (attempt: string) =>
    askProvider(context, { log, configuration }, { accountId: id, attemptId: attempt }, events);
  const paid = attemptId === null ? null : await ask(attemptId);
  const waitsForCard = paid?.outcome.type === 'waits' && provider !== MANUAL && billing.payments.method === null;
  const next = waitsForCard
    ? `waits for a card\n\nnext: ${nextCommand(startedWithOf(context), ...saveMethodCommand(id, provider))}`
    : null;
  const given: string[] = [];
  for (const attempt of openAttempts(billing.payments))
    if (isWithdrawn(billing, attempt) && [MANUAL, provider].includes(attempt.provider))
      given.push(`${nameOf(attempt)}: ${sayAsked(context, id, await ask(attempt.attemptId))}`);
  // With what the provider has answered.
  const { state, planEnds } = await readAccount(context, log, id, 'ChangePlan');
  // Whoever may change the plan sees what is paid for it (contracts/permissions.ts).
  const shownTo = { nowMs: asked.nowMs, seesPayments: true, endsNow: endsNowFor(context, id) };
  return {
    recordedAt,
    hasPlan: billing.plan !== null,
    /** What was open for another plan is not any more, and nothing is for this one. */
    isToBegin: given.length > 0 && state.suspended === null && isBegunForAnother(state.billing) && !hasOpen(state),
    given: given.join('\n'),
    json: {
      accountId: id,
      plan: planSaid(state),
      billing: state.billing.plan,
      attemptId,
      outcome: paid?.outcome ?? null,
    },
    text: `${id}: ${planInWords(state, planEnds, shownTo)}${given.map((line) => `\n${line}`).join('')}${paid === null ? '' : `\n${attemptId}: ${next ?? sayAsked(context, id, paid)}`}`,
  };
}

const nameOf = ({ attemptId, period }: PaymentAttempt): string =>
  period === null ? attemptId : `${attemptId} of the plan ${period.plan}`;

const hasOpen = ({ billing }: OpenAccount): boolean =>
  openAttempts(billing.payments).some(({ kind }) => kind === 'renewal');

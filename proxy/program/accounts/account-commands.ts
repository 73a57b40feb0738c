import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { DEFAULT_PRODUCT } from '../../../contracts/event-fields.ts';
import { type AccountId, accountId, grantId, namesPayment } from '../../../contracts/ids.ts';
import { instant } from '../../../contracts/instant.ts';
import { groupedExactUsd, groupedUsd, type MicroUsd, microUsd } from '../../../contracts/money.ts';
import type { Grant, OpenAccount } from '../../../ledger/account/account-state.ts';
import { authorize } from '../../../ledger/account/authorize.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { keyInWords } from '../../../ledger/account/key-state.ts';
import type { UsedKey } from '../../../ledger/account/last-uses.ts';
import { memberOfKey, ownerOf } from '../../../ledger/account/members.ts';
import { monthOf } from '../../../ledger/account/month.ts';
import { overdraftOf } from '../../../ledger/account/plan-over.ts';
import { isReturned } from '../../../ledger/account/returned-plan.ts';
import { monthOfSpend } from '../../../ledger/account/spend.ts';
import { limitOf } from '../../../ledger/account/spend-limits.ts';
import type { PlanEnd } from '../../../ledger/statement/plans-had.ts';
import { accountsAsideIn, UNPARKED } from '../../../projections/accounts-aside-in.ts';
import { accountArgument, emailArgument, productArgument, reasonArgument, usdArgument } from '../command-arguments.ts';
import { actorOf, type CommandContext, withBegunLog, withEventLog, withReadLog } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { productsInWords, warnOfOtherProduct } from '../product-words.ts';
import { facts, show, showWritten, type Terminal, table } from '../show.ts';
import { accountJson } from './account-json.ts';
import { otherProducts } from './other-products.ts';
import { paymentFacts } from './payments-shown.ts';
import { endsNowFor, planInWords } from './plan-in-words.ts';
import { readAccount, runAccountCommand } from './run-account-command.ts';
import { limitsOf, limitsTable } from './show-limits.ts';

/** The state that each word leads to. */
const SUSPENSION = { suspend: 'SuspendAccount', reinstate: 'ReinstateAccount' } as const;

interface ShownAt {
  readonly nowMs: number;
  /** How long after its end what is left of a grant is written off. */
  readonly lateMs: number;
  readonly planEnds: readonly PlanEnd[];
  /** By the gateway of this data folder, which refuses it, in words; null where it is not. */
  readonly setAside: string | null;
  readonly limits: ReturnType<typeof limitsOf>;
  /** Whether whoever asks may. */
  readonly seesPayments: boolean;
  readonly endsNow: string | null;
  readonly terminal: Terminal;
}

/** What ends it. */
function endOf(context: CommandContext, id: string, cause: string): string {
  if (cause === 'parked')
    return `\`${nextCommand(startedWithOf(context), 'gateway', 'projections', 'unpark', id)}\` serves it again`;
  if (cause === UNPARKED) return 'it is read once the log answers, and where no gateway runs by the next start';
  return 'a program that can read its events serves it again';
}

const asideInWords = (
  context: CommandContext,
  id: string,
  { cause, why }: { readonly cause: string; readonly why: string },
): string => `${cause}: ${why}; ${endOf(context, id, cause)}`;

interface OpenOptions {
  readonly kind: 'personal' | 'organization';
  readonly email: string;
  readonly id?: AccountId;
  readonly trialUsd?: MicroUsd;
  readonly product?: string;
}

/** `gateway account open|show|suspend|reinstate`. (`account list` and `account usage` read the views, in files of their own.) */
export function addAccountCommands(account: Command, context: CommandContext): void {
  account
    .command('open')
    .description('open an account, with trial credits that are valid for 30 days')
    .requiredOption('--email <address>', "the owner's e-mail", emailArgument)
    .addOption(new Option('--kind <kind>', 'what it is').choices(['personal', 'organization']).default('personal'))
    .option('--id <account>', 'an id of your own; made up otherwise', accountArgument)
    .option('--product <name>', "which product it is of; the configuration's otherwise", productArgument)
    .option(
      '--trial-usd <amount>',
      "trial credits in USD instead of the configuration's; 0: it has no credits until some are bought or granted",
      usdArgument,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gateway account open --email ada@example.com\n  gateway account open --email ops@example.com --kind organization --id acct_example',
    )
    .action(async (options: OpenOptions, command: Command) => openAccount(options, command, context));

  account
    .command('show')
    .description("show an account: credits, grants, keys and this month's spending")
    .argument('<account>', 'account id', accountArgument)
    .addHelpText('after', '\nExample:\n  gateway account show acct_demo')
    .action(async (id: AccountId, _options: unknown, command: Command) => showAccount(id, command, context));

  addSuspension(account, context, 'suspend', 'refuse all requests of an account (403) until it is reinstated');
  addSuspension(
    account,
    context,
    'reinstate',
    'take requests of a suspended account again (credits that have expired come back with `credits reinstate`)',
  );
}

function addSuspension(account: Command, context: CommandContext, word: keyof typeof SUSPENSION, what: string): void {
  account
    .command(word)
    .description(what)
    .argument('<account>', 'account id', accountArgument)
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument)
    .addHelpText('after', `\nExample:\n  gateway account ${word} acct_demo --reason "card disputed"`)
    .action(async (id: AccountId, { reason }: { readonly reason: string }, command: Command) => {
      await withEventLog(context, command, async (log) => {
        const { recordedAt } = await runAccountCommand(context, log, id, { type: SUSPENSION[word], reason });
        showWritten(context, command, recordedAt, {
          json: { accountId: id, [word]: reason },
          text: `${id}: ${word === 'suspend' ? 'suspended' : 'reinstated'}, ${reason}`,
        });
      });
    });
}

async function openAccount(options: OpenOptions, command: Command, context: CommandContext) {
  const { kind, email, id, trialUsd } = options;
  await withBegunLog(context, command, async (log, configuration) => {
    const opened = id ?? accountId(`acct_${randomBytes(8).toString('hex')}`);
    const trial = trialUsd ?? configuration.trialUsd;
    const product = options.product ?? configuration.product;
    // What was named is told of in its own words.
    const others = options.product === undefined ? await otherProducts(context, log, configuration) : [];
    const { recordedAt } = await runAccountCommand(context, log, opened, {
      type: 'OpenAccount',
      accountId: opened,
      kind,
      email,
      trial,
      trialGrantId: grantId('grant_trial'),
      product,
      nowMs: context.clock(),
    });
    warnOfOtherProduct(context, { id: opened, product, served: configuration.product });
    if (others.length > 0)
      context.warn(
        `warning: ${opened} is the first account of ${product}; the ledger has ${productsInWords(others)}, and an account is of its product for good\n`,
      );
    showWritten(context, command, recordedAt, {
      json: { accountId: opened, kind, email, product, trialMicroUsd: trial },
      text: `opened ${opened} (${kind}, ${email}${product === DEFAULT_PRODUCT ? '' : `, of ${product}`}) ${trialInWords(context, opened, trial)}\n\nnext: ${nextCommand(startedWithOf(context), 'gateway', 'key', 'issue', opened)}`,
    });
  });
}

const trialInWords = (context: CommandContext, id: AccountId, trial: MicroUsd): string =>
  trial === 0n
    ? `without trial credits: until some are there, free models alone answer (${nextCommand(startedWithOf(context), 'gateway', 'credits', 'purchase', id, '--usd', '20')}, or credits grant)`
    : `with ${groupedUsd(trial)} USD of trial credits for 30 days`;

async function showAccount(id: AccountId, command: Command, context: CommandContext): Promise<void> {
  await withReadLog(context, command, async (log, { data, expiry: { lateMs } }) => {
    const { state, revision, keys, planEnds } = await readAccount(context, log, id, 'ShowAccount');
    const nowMs = context.clock();
    const aside = accountsAsideIn(data).find((one) => one.accountId === id);
    const setAside = aside === undefined ? null : { cause: aside.cause, revision: aside.revision, why: aside.why };
    const limits = limitsOf(
      state,
      keys.map(({ keyId }) => keyId),
      monthOf(nowMs),
    );
    const seesPayments = authorize(actorOf(context), { type: 'ListPayments' }, state) === null;
    const available = microUsd(usableCredits(state.grants, nowMs) - state.uncovered);
    const asideWords = setAside === null ? null : asideInWords(context, id, setAside);
    const endsNow = endsNowFor(context, id);
    const shownAt = { nowMs, lateMs, planEnds, setAside: asideWords, limits, seesPayments, endsNow, terminal: context };
    show(context, command, {
      json: {
        ...accountJson(state, keys, { nowMs, planEnds, seesPayments }),
        revision,
        availableMicroUsd: available,
        overdraftMicroUsd: overdraftOf(state, nowMs),
        ...(seesPayments ? { planPaidBack: isReturned(state) } : {}),
        limits,
        setAside,
      },
      text: () => textOf(state, keys, available, shownAt),
    });
  });
}

/** Why what is left of a grant is not among what is available. */
function stateOf(grant: Grant, { nowMs, lateMs }: Pick<ShownAt, 'nowMs' | 'lateMs'>): string {
  if (grant.remaining === 0n) return 'nothing left';
  if (grant.effectiveAtMs > nowMs) return `not before ${instant(grant.effectiveAtMs)}`;
  if (grant.expiresAtMs === null || grant.expiresAtMs > nowMs) return 'usable';
  return `over; what is left is written off from ${instant(grant.expiresAtMs + lateMs)} on`;
}

function textOf(
  state: OpenAccount,
  keysUsed: readonly UsedKey[],
  available: MicroUsd,
  { nowMs, lateMs, planEnds, setAside, limits, seesPayments, endsNow, terminal }: ShownAt,
): string {
  const month = monthOf(nowMs);
  const ofAccount = limitOf(state.spend, { keyId: null, member: null });
  const overdraft = overdraftOf(state, nowMs);
  const limit = ofAccount === null ? 'no limit' : `of ${groupedUsd(ofAccount.limit)} USD`;
  const head = facts(
    [
      ['account', `${state.accountId} (${state.kind}, ${ownerOf(state)})`],
      ['product', state.organization.product],
      ['plan', planInWords(state, planEnds, { nowMs, seesPayments, endsNow })],
      ...(state.suspended === null ? [] : [['suspended', state.suspended] as const]),
      ...(setAside === null ? [] : [['set aside', setAside] as const]),
      ['available', `${groupedUsd(available)} USD`],
      [
        'balance',
        `${groupedUsd(state.balance)} USD, and ${groupedExactUsd(state.carry)} USD carried to the next debit`,
      ],
      ...(overdraft === 0n
        ? []
        : [
            [
              'overdraft',
              `${groupedUsd(overdraft)} USD, which may be owed by the plan beyond what is available`,
            ] as const,
          ]),
      [`spent ${month}`, `${groupedUsd(monthOfSpend(state.spend, month).account)} USD, ${limit}`],
      ...paymentFacts(state, { nowMs, seesPayments }),
    ],
    terminal,
  );
  const grants = state.grants.map((grant) => [
    seesPayments || !namesPayment(grant.grantId) ? grant.grantId : 'paid for',
    grant.source,
    groupedUsd(grant.amount),
    groupedUsd(grant.remaining),
    groupedUsd(grant.expired),
    grant.expiresAtMs === null ? 'never' : instant(grant.expiresAtMs),
    stateOf(grant, { nowMs, lateMs }),
  ]);
  const keys = keysUsed.map((key) => [
    key.keyId,
    key.name,
    `…${key.last4}`,
    memberOfKey(state, key),
    keyInWords(key, nowMs),
    key.lastUsedAt ?? 'never',
  ]);
  const members = Object.values(state.organization.members).map(({ email, role }) => [email, role]);
  return [
    head,
    `grants, in the order in which they burn:\n${table(['grant', 'source', 'USD', 'left', 'expired', 'expires', 'state'], grants, terminal)}`,
    ...(limits.length === 0 ? [] : [`monthly limits, in ${month}:\n${limitsTable(limits, terminal)}`]),
    ...(state.kind === 'personal' ? [] : [`members:\n${table(['member', 'role'], members, terminal)}`]),
    `keys:\n${table(['key', 'name', 'ends in', 'whose', 'state', 'last used'], keys, terminal)}`,
  ].join('\n\n');
}

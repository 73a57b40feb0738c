import { Command } from 'commander';
import { type Actor, isForMembers } from '../../contracts/permissions.ts';
import { emailArgument, nameArgument, pathArgument } from './command-arguments.ts';
import { type CommandContext, CommandError, configurationFile, EXIT } from './command-context.ts';
import { addCompletionCommand } from './completion/completion-command.ts';
import { addDoctorCommand } from './doctor/doctor-command.ts';
import { HELP_TEXT_COLUMNS_LEAST, helpInColumns } from './help-width.ts';
import { programVersion } from './program-version.ts';
import { addRelayCommand } from './relay/relay-command.ts';
import { addServeCommand } from './serve/serve-command.ts';

interface Group {
  readonly name: string;
  readonly description: string;
  add(command: Command, context: CommandContext): Promise<void>;
}

/** What a command needs is loaded where the group's name is in the line: half of the time that `--help` would take else. */
const GROUPS: readonly Group[] = [
  {
    name: 'account',
    description: 'accounts',
    add: async (account, context) => {
      (await import('./accounts/account-commands.ts')).addAccountCommands(account, context);
      (await import('./accounts/account-list.ts')).addAccountListCommand(account, context);
      (await import('./payments/plan-command.ts')).addAccountPlanCommand(account, context);
      (await import('./accounts/account-usage.ts')).addAccountUsageCommand(account, context);
      (await import('./accounts/statement-command.ts')).addStatementCommand(account, context);
    },
  },
  {
    name: 'credits',
    description: 'credits',
    add: async (credits, context) => {
      (await import('./accounts/credits-commands.ts')).addCreditsCommands(credits, context);
      (await import('./accounts/reinstate-command.ts')).addReinstateCommand(credits, context);
      (await import('./accounts/revoke-commands.ts')).addRevokeCommands(credits, context);
      (await import('./payments/purchase-command.ts')).addPurchaseCommand(credits, context);
      (await import('./payments/reload-command.ts')).addReloadCommand(credits, context);
    },
  },
  {
    name: 'payment',
    description: 'payments',
    add: async (payment, context) => {
      (await import('./payments/payment-commands.ts')).addPaymentCommands(payment, context);
      (await import('./payments/refund-commands.ts')).addRefundCommands(payment, context);
      (await import('./payments/method-commands.ts')).addMethodCommands(payment, context);
    },
  },
  {
    name: 'debit',
    description: 'what requests were debited',
    add: async (debit, context) => {
      (await import('./accounts/debit-commands.ts')).addDebitCommands(debit, context);
    },
  },
  {
    name: 'balance',
    description: 'balances of accounts',
    add: async (balance, context) => {
      (await import('./accounts/balance-commands.ts')).addBalanceCommands(balance, context);
    },
  },
  {
    name: 'key',
    description: 'service keys',
    add: async (key, context) => {
      (await import('./accounts/key-commands.ts')).addKeyCommands(key, context);
    },
  },
  {
    name: 'member',
    description: 'who belongs to an organization',
    add: async (member, context) => {
      (await import('./accounts/member-commands.ts')).addMemberCommands(member, context);
    },
  },
  {
    name: 'exception',
    description: 'usage that could not be debited as it came',
    add: async (exception, context) => {
      (await import('./exceptions/exception-commands.ts')).addExceptionCommands(exception, context);
    },
  },
  {
    name: 'limit',
    description: 'monthly spend limits',
    add: async (limit, context) => {
      (await import('./accounts/limit-commands.ts')).addLimitCommands(limit, context);
    },
  },
  {
    name: 'catalog',
    description: 'models and prices',
    add: async (catalog, context) => {
      (await import('./catalog/catalog-commands.ts')).addCatalogCommands(catalog, context);
    },
  },
  {
    name: 'plan',
    description: 'plans of the catalog',
    add: async (plan, context) => {
      (await import('./catalog/plan-commands.ts')).addPlanCommands(plan, context);
    },
  },
  {
    name: 'ledger',
    description: 'the ledger, for auditors, and after a loss',
    add: async (ledger, context) => {
      (await import('./ledger/ledger-commands.ts')).addLedgerCommands(ledger, context);
      (await import('./ledger/verify-command.ts')).addVerifyCommand(ledger, context);
      (await import('./ledger/prove-command.ts')).addProveCommands(ledger, context);
      (await import('./ledger/forms-command.ts')).addFormsCommand(ledger, context);
      (await import('./ledger/keys-command.ts')).addKeysCommand(ledger, context);
      (await import('./backup/backup-command.ts')).addBackupCommand(ledger, context);
      (await import('./backup/restore-command.ts')).addRestoreCommand(ledger, context);
      (await import('./ledger/accept-loss-command.ts')).addAcceptLossCommand(ledger, context);
      (await import('./ledger/copy-command.ts')).addCopyCommand(ledger, context);
    },
  },
  {
    name: 'projections',
    description: 'the views that requests are admitted by',
    add: async (projections, context) => {
      (await import('./projections/projections-commands.ts')).addProjectionsCommands(projections, context);
    },
  },
];

/**
 * All commands of the program `gateway`, each of which throws what it cannot do: the caller decides how the process ends.
 *
 * @param args of one command line: groups that it does not name have no commands; without it all have
 */
export async function gatewayProgram(given: CommandContext, args?: readonly string[]): Promise<Command> {
  const program = new Command('gateway');
  const context = withActor(given, () => program);
  const version = programVersion();
  // Commander prints it where it meets the option, which may be before it has met the other.
  const versionWords = args?.includes('--json') ? JSON.stringify({ version }) : version;
  program
    .description('a model gateway that bills to the token and can prove it')
    .version(versionWords, '--version', 'print which program this is')
    .option('--config <file>', 'configuration file, YAML or JSON (or GATEWAY_CONFIG)', pathArgument)
    .option('--data <folder>', "data folder instead of the configuration's", pathArgument)
    .option('--json', 'answers for machines')
    .option(
      '--actor <name>',
      'who does this, as it stands in the ledger; the system’s user otherwise, where that has a name',
      nameArgument,
    )
    .option('--as <email>', 'act on an account as a member of it, who may do less than an operator', emailArgument)
    .option('--trust-clock', 'write though the ledger disagrees with the clock of this machine')
    .configureOutput({
      writeOut: (text) => context.write(helpInColumns(text, context.columns)),
      writeErr: context.warn,
    })
    .showHelpAfterError('(--help shows how)')
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: HELP_TEXT_COLUMNS_LEAST })
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 unexpected failure, 2 wrong usage or configuration, 3 refused, 4 data or address out of reach, 5 faults found',
    )
    .exitOverride()
    .hook('preAction', (_program, action) => assertFor(program.opts(), action));
  addServeCommand(program, context);
  addRelayCommand(program, context);
  addDoctorCommand(program, context);
  const isNamed = (name: string): boolean => args === undefined || args.includes(name) || args.includes('completion');
  for (const { name, description, add } of GROUPS) {
    const group = program.command(name).description(description);
    if (isNamed(name)) await add(group, context);
  }
  addCompletionCommand(program, context);
  overrideExits(program);
  return program;
}

interface ActorOptions {
  readonly actor?: string;
  readonly as?: string;
}

/** Who gives a command line's commands is who its options name. @param program undefined until it is made */
export const withActor = (given: CommandContext, program: () => Command | undefined): CommandContext => ({
  ...given,
  actor: () => givenActor(program()?.opts() ?? {}) ?? given.actor?.() ?? null,
  line: program,
  startedWith: () => {
    const command = program();
    const { data, as }: ActorOptions & { readonly data?: string } = command?.opts() ?? {};
    return { config: command === undefined ? null : configurationFile(given, command), data, as };
  },
});

function givenActor({ actor, as }: ActorOptions): Actor | null {
  if (as !== undefined) return { type: 'member', email: as };
  return actor === undefined ? null : { type: 'operator', name: actor };
}

/** What is about more than one account, or looks a member's up by other means than the one that asks who may, is staff's. @throws CommandError */
function assertFor({ actor, as }: ActorOptions, action: Command): void {
  if (as === undefined) return;
  if (actor !== undefined) throw new CommandError('say one of --actor and --as', EXIT.usage);
  const group = action.parent?.name() ?? '';
  const first = action.registeredArguments[0]?.name() ?? null;
  if (!isForMembers({ group, name: action.name(), first }))
    throw new CommandError('--as: this command is for operators alone', EXIT.refused);
}

/** Sub-commands must throw, too, so that `main.mjs` alone decides how the process ends. */
function overrideExits(command: Command): void {
  for (const inner of command.commands) {
    inner.exitOverride();
    overrideExits(inner);
  }
}

import type { Command } from 'commander';
import type { EventLog } from '../../../contracts/event-log.ts';
import { type AccountId, accountStream, CATALOG_STREAM } from '../../../contracts/ids.ts';
import { onOneLine } from '../../../contracts/printable.ts';
import { describeFault, type Fault } from '../../../ledger/audit/fault.ts';
import { LedgerAudit } from '../../../ledger/audit/ledger-audit.ts';
import { hasEvents } from '../../../ledger/identity/unsettleable.ts';
import { accountArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, globalOptions, withReadLog } from '../command-context.ts';

interface VerifyOptions {
  readonly all?: boolean;
}

/** `gateway ledger verify`: an audit that recomputes everything from the events alone, one line a fault. */
export function addVerifyCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('verify')
    .description(
      'recompute everything from the events alone: revisions, schemas, each debit from its usage and the rate card that it' +
        ' names, carry, burn order, balances. One line a fault, with its stream and revision, what it finds and what should' +
        ' be there; exit code 5 where there is any. With --json a JSON object a line, the last of which sums up',
    )
    .argument('[accounts...]', 'account ids', (id: string, before: AccountId[] = []) => [
      ...before,
      accountArgument(id),
    ])
    .option('--all', 'every account')
    .addHelpText('after', '\nExamples:\n  gateway ledger verify acct_demo\n  gateway ledger verify --all --json')
    .action(async (accounts: readonly AccountId[], { all = false }: VerifyOptions, command: Command) => {
      if (all === accounts.length > 0)
        throw new CommandError('name the accounts to look at, or --all, and not both', EXIT.usage);
      await withReadLog(context, command, async (log) => {
        const isJson = globalOptions(command).json === true;
        let faults = 0;
        const audit = new LedgerAudit((fault) => {
          faults++;
          context.write(isJson ? `${JSON.stringify({ fault })}\n` : `${lineOf(fault)}\n`);
        });
        for await (const event of all ? log.readAll() : streamsOf(log, accounts)) audit.take(event);
        audit.end();
        const summary = { events: audit.events, accounts: audit.accounts, faults };
        context.write(isJson ? `${JSON.stringify({ summary })}\n` : `${summaryOf(summary)}\n`);
        if (faults > 0) throw new CommandError(`the ledger has ${faults} faults`, EXIT.faults);
      });
    });
}

/** Accounts alone can be looked at, too; prices are the catalog's in any case. @throws CommandError */
async function* streamsOf(log: EventLog, accounts: readonly AccountId[]) {
  yield* log.readStream(CATALOG_STREAM);
  for (const id of new Set(accounts)) {
    if (!(await hasEvents(log, id))) throw new CommandError(`${id}: there is no such account`, EXIT.refused);
    yield* log.readStream(accountStream(id));
  }
}

const lineOf = (fault: Fault): string =>
  `${onOneLine(fault.stream)} ${fault.revision ?? '-'}: ${onOneLine(describeFault(fault))}`;

const summaryOf = (found: { readonly events: number; readonly accounts: number; readonly faults: number }): string =>
  `${found.events} events of ${found.accounts} accounts: ${found.faults === 0 ? 'no fault' : `${found.faults} faults`}`;

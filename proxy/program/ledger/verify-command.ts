import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import { type EventLog, EventLogError } from '../../../contracts/event-log.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { counted } from '../../../contracts/money.ts';
import { bounded, brief } from '../../../contracts/printable.ts';
import { describeFault, type Fault, ofLedger } from '../../../ledger/audit/fault.ts';
import { withLogFile } from '../../../ledger/event-log/sqlite/log-file.ts';
import { structureFaults } from '../../../ledger/event-log/sqlite/structure-faults.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { accountArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, globalOptions, withReadLog } from '../command-context.ts';
import { ledgerFile } from '../open-event-log.ts';
import { Progress } from '../progress.ts';
import { verifyAccounts, verifyLog } from './verify-events.ts';
import { type Verification, type Verified, verifyFile } from './verify-file.ts';
import { addSealOptions, asksForSeals, type VerifySealsOptions, verifySealsOf } from './verify-seals-command.ts';
import { offlineFile, offlineOption, withLedger } from './with-ledger.ts';

interface VerifyOptions extends VerifySealsOptions {
  readonly all?: boolean;
  readonly offline?: string;
}

/** `gateway ledger verify`: an audit that recomputes everything from the events alone, one line a fault. */
export function addVerifyCommand(ledger: Command, context: CommandContext): void {
  const verify = ledger.command('verify');
  addSealOptions(verify)
    .description(
      'recompute everything from the events alone: revisions, schemas, each debit from its usage and the rate card that it' +
        ' names, carry, burn order, balances, leases, limits, expiries; and compare the views. One line a fault, with its stream and revision,' +
        ' what it finds and what should be there; exit code 5 where there is any. With --json a JSON object a line, the' +
        ' last of which sums up',
    )
    .argument('[accounts...]', 'account ids', (id: string, before: AccountId[] = []) => [
      ...before,
      accountArgument(id),
    ])
    .option('--all', 'every account, as --offline alone is')
    .addOption(offlineOption())
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger verify acct_demo\n  gateway ledger verify --all --json\n  gateway ledger verify --offline copy-of-ledger.db' +
        '\n  gateway ledger verify acct_demo --offline copy-of-ledger.db' +
        '\n  gateway ledger verify --seals --anchor seals.ndjson',
    )
    .action(async (accounts: readonly AccountId[], options: VerifyOptions, command: Command) => {
      const { all = false, offline } = options;
      context.whenUnread?.(null);
      if (asksForSeals(options, all || accounts.length > 0)) {
        return withLedger(offline, { context, command }, (log, configuration) => {
          const file = configuration === null ? resolve(String(offline)) : ledgerFile(configuration);
          return verifySealsOf(log, file, options, { context, command });
        });
      }
      if (all && accounts.length > 0)
        throw new CommandError('--all is every account: name no accounts beside it, or leave it out', EXIT.usage);
      if (!all && accounts.length === 0 && offline === undefined)
        throw new CommandError('name the accounts to look at, or --all, or --offline with a file', EXIT.usage);
      const isJson = globalOptions(command).json === true;
      let faults = 0;
      using progress = new Progress(context, 'events');
      const verification: Verification = {
        views: null,
        onFault: (fault) => {
          faults++;
          context.whenUnread?.(EXIT.faults);
          progress.above(() => context.write(isJson ? `${JSON.stringify({ fault })}\n` : `${lineOf(fault)}\n`));
        },
        onRead: (events, of) => progress.add(events, of),
      };
      const lookAtFile = (file: string | null): void => {
        for (const fault of file === null ? [] : structureFaults(file))
          verification.onFault(ofLedger(`its file: ${fault}`, null));
      };
      const evidence = offline === undefined ? null : offlineFile(offline);
      lookAtFile(evidence);
      const verifying =
        evidence === null
          ? withReadLog(context, command, (log, configuration, { isWhole, lost }) => {
              lookAtFile(ledgerFile(configuration));
              if (lost !== undefined) verification.onFault(ofLedger(lost, null));
              // Views that know another ledger than this one are no word on it.
              const views = isWhole || lost !== undefined ? join(configuration.data, VIEWS_FILE) : null;
              return all
                ? verifyAll(log, configuration, { ...verification, views })
                : verifyAccounts(log, accounts, { ...verification, views });
            })
          : accounts.length > 0
            ? withLogFile(evidence, (log) => verifyAccounts(log, accounts, verification))
            : verifyFile(evidence, verification);
      const verified = await verifying.catch((error: unknown) => {
        if (faults === 0 || !(error instanceof EventLogError || error instanceof CommandError)) throw error;
        throw new CommandError(
          `faults found: ${faults}, and not all could be looked at: ${error.message}`,
          EXIT.faults,
        );
      });
      progress.end();
      const summary = { ...verified, faults };
      context.write(isJson ? `${JSON.stringify({ summary })}\n` : `${summaryOf(summary, accounts.length === 0)}\n`);
      if (faults > 0) throw new CommandError(`faults found: ${faults}`, EXIT.faults);
    });
}

/** The embedded log's file is read by threads; of another log one reads, in its order. */
function verifyAll(log: EventLog, configuration: Configuration, verification: Verification): Promise<Verified> {
  const file = ledgerFile(configuration);
  return file === null ? verifyLog(log, verification) : verifyFile(file, verification);
}

const lineOf = (fault: Fault): string =>
  `${brief(fault.stream)} ${fault.revision ?? '-'}: ${bounded(describeFault(fault), FAULT_CHARS)}`;

/** More than a debit of all classes and uses, as it is and as it should be. */
const FAULT_CHARS = 4_000;

/** @param isAll of the whole ledger: its seals are events, too, which `--seals` does not count among what they seal */
const summaryOf = (found: Verified & { readonly faults: number }, isAll: boolean): string =>
  `${counted(found.events, 'event')}, those of the catalog${isAll ? ', the seals' : ''} and the ledger itself among them, ` +
  `of ${counted(found.accounts, 'account')}: ` +
  (found.faults === 0 ? 'no fault' : counted(found.faults, 'fault')) +
  (found.movedTo === undefined
    ? ''
    : `\nThe ledger has moved to ${brief(found.movedTo)}: what came behind its last event here is there`);

import type { Command } from 'commander';
import type { ReadableLog, RecordedEvent } from '../../../contracts/event-log.ts';
import { type AccountId, accountStream, type Revision } from '../../../contracts/ids.ts';
import { groupedCount, groupedUsd } from '../../../contracts/money.ts';
import { exactEventLine } from '../../../ledger/export/exact-event-line.ts';
import { Statement, type StatementLine } from '../../../ledger/statement/statement.ts';
import {
  behind,
  Division,
  describeDisorder,
  recordedAtOf,
  type StreamPlace,
} from '../../../ledger/statement/stream-range.ts';
import { accountArgument, placeArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, globalOptions } from '../command-context.ts';
import { assertRange, placeRangeOptions } from '../range-options.ts';
import { facts, writeData, writePainted } from '../show.ts';
import { assertAccount } from './assert-account.ts';
import { showStateAt } from './show-state-at.ts';
import { statementTable } from './statement-table.ts';
import { offlineOption, withLedger } from './with-ledger.ts';

interface ReplayOptions {
  readonly from?: StreamPlace;
  readonly to?: StreamPlace;
  readonly at?: StreamPlace;
  readonly all?: boolean;
  readonly offline?: string;
}

/** `gateway ledger replay`: an account's stream as a statement, or what the account was at a place of it. */
export function addReplayCommand(ledger: Command, context: CommandContext): void {
  const [begin, end] = placeRangeOptions();
  ledger
    .command('replay')
    .description(
      "an account's statement from its events: what happened, what it moved, and the balance after it. A place is a" +
        ' revision, or a time by which events were written down (UTC); before a range the balance is brought forward. With --json the events as they are stored, one a line',
    )
    .argument('<account>', 'account id', accountArgument)
    .addOption(begin)
    .addOption(end)
    .option(
      '--at <place>',
      'balance, grants, limits and the month as they were behind it, instead of a statement: what was written at that very' +
        ' instant (to the millisecond) is in it, where --to leaves it out',
      placeArgument,
    )
    .option('--all', 'a line for every event, those of leases and usages too')
    .addOption(offlineOption())
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger replay acct_demo\n  gateway ledger replay acct_demo --from 2027-05 --to 2027-05' +
        '\n  gateway ledger replay acct_demo --at 2027-06-01T00:00Z\n  gateway ledger replay acct_demo --at 41 --json',
    )
    .action(async (id: AccountId, options: ReplayOptions, command: Command) => {
      const { from, to, at } = options;
      if (at !== undefined && (from !== undefined || to !== undefined || options.all === true))
        throw new CommandError('--at goes without --from, --to and --all', EXIT.usage);
      assertRange(from !== undefined && to !== undefined && isNothingBetween(from, to));
      await withLedger(options.offline, { context, command }, async (log) => {
        await assertAccount(log, id);
        if (at !== undefined) return showStateAt(id, at, log, { context, command });
        if (globalOptions(command).json !== true) return showStatement(id, options, log, context);
        for await (const { recorded, isShown } of eventsOf(id, options, { log, context }))
          if (isShown) writeData(context, exactEventLine(recorded));
      });
    });
}

/** A revision is in the range that ends with it, an instant is not. What of a revision and an instant comes first, events tell. */
function isNothingBetween(from: StreamPlace, to: StreamPlace): boolean {
  if (from.type === 'revision') return to.type === 'revision' && from.revision > to.revision;
  return to.type === 'instant' && from.atMs >= to.atMs;
}

/** The events up to where the range ends, from the first on: what stands before the range is folded, and not shown. */
async function* eventsOf(
  id: AccountId,
  { from, to }: ReplayOptions,
  { log, context }: { readonly log: ReadableLog; readonly context: CommandContext },
): AsyncGenerator<RangedEvent> {
  const begin = from === undefined ? null : new Division(from);
  const end = to === undefined ? null : new Division(to.type === 'revision' ? behind(to) : to);
  for await (const recorded of log.readStream(accountStream(id))) {
    const recordedAt = recordedAtOf(recorded);
    if (end?.take(recorded, recordedAt) !== true)
      yield { recorded, isShown: begin === null || begin.take(recorded, recordedAt) };
    else if (end.isSettled) break;
  }
  for (const [option, division] of [
    ['--from', begin],
    ['--to', end],
  ] as const)
    if (division !== null && division.disorder !== null)
      context.warn(`warning: ${id}: ${option}: ${describeDisorder(division.disorder)}\n`);
}

interface RangedEvent {
  readonly recorded: RecordedEvent;
  readonly isShown: boolean;
}

/** @throws CommandError where something in the stream is amiss, after all of it was shown */
async function showStatement(id: AccountId, options: ReplayOptions, log: ReadableLog, context: CommandContext) {
  const statement = new Statement(id, { withAll: options.all === true });
  const shown = new ShownStatement(context);
  context.whenUnread?.(null);
  for await (const { recorded, isShown } of eventsOf(id, options, { log, context })) {
    if (isShown) shown.begin(recorded.revision, statement);
    shown.add(statement.take(recorded));
  }
  shown.add(statement.end());
  shown.end(statement);
  if (statement.faults === 0) return;
  const lines = statement.faults === 1 ? 'one line says' : `${groupedCount(statement.faults)} lines say`;
  throw new CommandError(`${id}: not all of its stream can be relied on: ${lines} what is amiss`, EXIT.faults);
}

/** Lines that are drawn at once: their columns are as wide as the longest amount among them. */
const LINES_AT_ONCE = 100;

/** The part of a statement that is in range, written as it comes, with what it adds up to. */
class ShownStatement {
  readonly #context: CommandContext;
  #first: Revision | null = null;
  #broughtForward: bigint | null = 0n;
  #leftOutBefore = 0;
  #waiting: StatementLine[] = [];
  #isHeadWritten = false;
  #added = 0n;
  #taken = 0n;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  /** Told of each event in range, before the statement takes it. */
  begin(revision: Revision, { balance, leftOut }: Statement): void {
    if (this.#first !== null) return;
    this.#first = revision;
    this.#broughtForward = balance;
    this.#leftOutBefore = leftOut;
    if (revision > 0) this.#context.write(`brought forward: ${usdOf(balance)}\n`);
  }

  add(lines: readonly StatementLine[]): void {
    for (const line of lines) {
      if (this.#first === null || line.revision < this.#first) continue;
      this.#waiting.push(line);
      if (line.amount !== null && line.amount > 0n) this.#added += line.amount;
      else this.#taken += line.amount ?? 0n;
      if (this.#waiting.length === LINES_AT_ONCE) this.#flush();
    }
  }

  end({ balance, leftOut }: Statement): void {
    this.#flush();
    if (this.#first === null) this.#context.write('no event stands there\n');
    const housekeeping = leftOut - this.#leftOutBefore;
    const sums = facts([
      ['brought forward', usdOf(this.#first === null ? balance : this.#broughtForward)],
      ['added', `+${groupedUsd(this.#added)} USD`],
      ['taken', `${groupedUsd(this.#taken)} USD`],
      ['balance', usdOf(balance)],
    ]);
    const more =
      housekeeping === 0
        ? ''
        : `\nevents of leases, which move no money, are left out: ${groupedCount(housekeeping)} (--all shows them)`;
    this.#context.write(`\n${sums}${more}\n`);
  }

  #flush(): void {
    if (this.#waiting.length === 0) return;
    writePainted(this.#context, `${statementTable(this.#waiting, this.#context, !this.#isHeadWritten)}\n`);
    this.#waiting = [];
    this.#isHeadWritten = true;
  }
}

const usdOf = (balance: bigint | null): string => (balance === null ? 'unknown' : `${groupedUsd(balance)} USD`);

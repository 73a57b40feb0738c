import { mkdirSync, rmSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { EventLog } from '../../../contracts/event-log.ts';
import { type AccountId, accountStream } from '../../../contracts/ids.ts';
import { counted, groupedCount } from '../../../contracts/money.ts';
import { UnreadableEventError } from '../../../contracts/unreadable-event-error.ts';
import { discardedOnSignal } from '../../../ledger/discarded-on-signal.ts';
import { lastPosition, scanFile } from '../../../ledger/event-log/sqlite/scan-file.ts';
import { beancountForm } from '../../../ledger/export/beancount-form.ts';
import { type BooksForm, bookEntries, type EventPages, type Period } from '../../../ledger/export/book-entries.ts';
import { csvForm } from '../../../ledger/export/csv-form.ts';
import { eventLines } from '../../../ledger/export/event-lines.ts';
import { exportFolder } from '../../../ledger/export/export-folder.ts';
import { focusForm } from '../../../ledger/export/focus-form.ts';
import { hledgerForm } from '../../../ledger/export/hledger-form.ts';
import { assertFree, OutFile } from '../../../ledger/export/out-file.ts';
import { UnbookableError } from '../../../ledger/postings/customer-books.ts';
import { accountArgument, pathArgument } from '../command-arguments.ts';
import { type CommandCall, type CommandContext, CommandError, EXIT, withReadLog } from '../command-context.ts';
import { Progress } from '../progress.ts';
import { assertRange, rangeOptions } from '../range-options.ts';
import { assertNotJson, show, writeData } from '../show.ts';
import { assertAccount, noAccount } from './assert-account.ts';
import { inPages, toldPages, warnOfHidden } from './log-with-progress.ts';
import { outInWords } from './out-in-words.ts';
import { offlineFile, offlineOption } from './with-ledger.ts';

const FORMATS = ['ndjson', 'csv', 'hledger', 'beancount', 'focus', 'parquet'] as const;
type Format = (typeof FORMATS)[number];

interface ExportOptions {
  readonly format: Format;
  readonly from?: number;
  readonly to?: number;
  readonly account?: AccountId;
  readonly out?: string;
  readonly offline?: string;
}

/** `gateway ledger export`: the ledger for other programs, as its events or as books in double entry. */
export function addExportCommand(ledger: Command, context: CommandContext): void {
  const [from, to] = rangeOptions();
  ledger
    .command('export')
    .description(
      'the ledger for other programs: its stored events (ndjson), or books in double entry in which every event balances' +
        ' (hledger, beancount, csv, parquet), or cost and usage by FOCUS 1.2 (focus). What counts is when an event was written' +
        ' down (UTC); hledger and beancount begin a period with opening balances and assert the closing ones',
    )
    .addOption(new Option('--format <format>', 'which form').choices(FORMATS).makeOptionMandatory())
    .addOption(from)
    .addOption(to)
    .option('--account <account>', 'of this account alone', accountArgument)
    .option(
      '--out <path>',
      'a new file; for ndjson a new folder, of the whole ledger with its seals; without one, or -, the answer itself',
      pathArgument,
    )
    .addOption(offlineOption())
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger export --format hledger --out ledger.journal && hledger -f ledger.journal check -s' +
        '\n  gateway ledger export --format csv --from 2027-05 --to 2027-05 > may.csv' +
        '\n  gateway ledger export --format ndjson --out proof',
    )
    .action(async ({ out, ...given }: ExportOptions, command: Command) => {
      const options: ExportOptions = out === undefined || out === '-' ? given : { ...given, out };
      assertFitting(options);
      // Of events it is JSON lines; of a file it is told what was written.
      if (options.out === undefined && options.format !== 'ndjson') assertNotJson(command, options.format);
      const { offline } = options;
      const progress = progressOf(context, options);
      if (offline !== undefined)
        return writeExport(ofFile(offlineFile(offline), options, progress), options, { context, command });
      await withReadLog(context, command, async (log) => {
        if (options.account === undefined) await warnOfHidden(log, context);
        await writeExport(await ofLog(log, options, progress), options, { context, command });
      });
    });
}

/** @throws CommandError where there is no such account */
async function ofLog(log: EventLog, { account }: ExportOptions, progress: Progress | null): Promise<EventPages> {
  if (account !== undefined) {
    await assertAccount(log, account);
    return inPages(log.readStream(accountStream(account)));
  }
  const pages = inPages(log.readAll());
  return progress === null ? pages : toldPages(pages, { progress, after: 0, head: () => log.headPosition() });
}

/** @throws EventLogError for what is no file of a ledger; CommandError where it has no such account */
function ofFile(path: string, { account }: ExportOptions, progress: Progress | null): EventPages {
  const last = lastPosition(path);
  const pages = inPages(scanFile({ path, part: 0, parts: 1, upTo: last }));
  const read = progress === null ? pages : toldPages(pages, { progress, after: 0, head: async () => last });
  return account === undefined ? read : ofAccount(read, account);
}

async function* ofAccount(pages: EventPages, account: AccountId): EventPages {
  const ofStream = accountStream(account);
  let isThere = false;
  for await (const page of pages) {
    const own = page.filter(({ stream }) => stream === ofStream);
    isThere ||= own.length > 0;
    yield own;
  }
  if (!isThere) throw noAccount(account);
}

/** Where lines go to a terminal, nothing is told between them. */
const progressOf = (context: CommandContext, { out }: ExportOptions): Progress | null =>
  out === undefined && context.columns !== undefined ? null : new Progress(context, 'events');

async function writeExport(
  pages: EventPages,
  options: ExportOptions,
  { context, command }: CommandCall,
): Promise<void> {
  const { out, format } = options;
  try {
    if (out === undefined) return await writeTo(context, await chunksOf(options, pages));
    const written =
      format === 'ndjson' ? await toFolder(out, pages) : await toFile(out, await chunksOf(options, pages));
    const what =
      format === 'ndjson'
        ? `${counted(written, 'event')}, and the seals beside them`
        : `entries: ${groupedCount(written)}`;
    show(context, command, { json: { out, format, written }, text: `${out}: ${what}` });
  } catch (error) {
    throw inWords(error, out);
  }
}

/** @throws CommandError */
function assertFitting({ format, from, to, account, out }: ExportOptions): void {
  assertRange(from !== undefined && to !== undefined && from >= to);
  if (format === 'parquet' && out === undefined)
    throw new CommandError('--out: a Parquet file has to be named', EXIT.usage);
  if (format === 'ndjson' && out !== undefined && (from ?? to ?? account) !== undefined)
    throw new CommandError(
      '--out: a folder of events is the whole ledger, or its seals prove nothing; without --out, --from, --to and --account' +
        ' print a part',
      EXIT.usage,
    );
  if (out === undefined) return;
  try {
    assertFree(out);
  } catch (error) {
    throw outInWords(error, out);
  }
}

type Chunks = AsyncGenerator<string | Uint8Array, { readonly entries: number }, undefined>;

async function chunksOf({ format, from, to }: ExportOptions, pages: EventPages): Promise<Chunks> {
  const period: Period = { from: instantOf(from), to: instantOf(to) };
  if (format === 'ndjson') return eventLines(pages, period);
  return bookEntries(pages, period, await formOf(format, period));
}

const instantOf = (atMs: number | undefined): string | null =>
  atMs === undefined ? null : new Date(atMs).toISOString();

async function formOf(format: Exclude<Format, 'ndjson'>, period: Period): Promise<BooksForm> {
  switch (format) {
    case 'csv':
      return csvForm();
    case 'hledger':
      return hledgerForm(period);
    case 'beancount':
      return beancountForm(period);
    case 'focus':
      return focusForm();
    case 'parquet':
      // Loaded where it is asked for: no other command needs it.
      return (await import('../../../ledger/export/parquet-form.ts')).parquetForm();
    default:
      return format satisfies never;
  }
}

async function writeTo(context: CommandContext, chunks: Chunks): Promise<void> {
  for await (const chunk of chunks) if (typeof chunk === 'string' && chunk !== '') writeData(context, chunk);
}

const toFile = (path: string, chunks: Chunks): Promise<number> =>
  OutFile.write(path, async (file) => {
    let step = await chunks.next();
    for (; step.done !== true; step = await chunks.next()) await file.write(step.value);
    return step.value.entries;
  });

async function toFolder(path: string, pages: EventPages): Promise<number> {
  mkdirSync(path, { mode: 0o700 });
  const discard = (): void => rmSync(path, { recursive: true, force: true });
  try {
    return await discardedOnSignal(discard, () => exportFolder(path, pages));
  } catch (error) {
    discard();
    throw error;
  }
}

/** What is amiss with an event or with the file, in words; anything else as it is. */
function inWords(error: unknown, out: string | undefined): unknown {
  if (error instanceof UnbookableError || error instanceof UnreadableEventError)
    return new CommandError(`${error.message}; gateway ledger verify tells more`, EXIT.faults);
  return out === undefined ? error : outInWords(error, out);
}

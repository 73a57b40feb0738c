import type { Command } from 'commander';
import { UnreadableEventError } from '../../../contracts/event-codec.ts';
import type { ReadableLog } from '../../../contracts/event-log.ts';
import { SEALS_STREAM } from '../../../contracts/ids.ts';
import { groupedUsd } from '../../../contracts/money.ts';
import { UnbookableError } from '../../../ledger/postings/customer-books.ts';
import type { Books } from '../../../ledger/report/books.ts';
import { correctedBy, soldIn, spentBy } from '../../../ledger/report/movements.ts';
import { receivedIn } from '../../../ledger/report/payments-book.ts';
import { monthArgument, pathArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, globalOptions } from '../command-context.ts';
import { facts, show, writeData } from '../show.ts';
import { logWithProgress, warnOfHidden } from './log-with-progress.ts';
import { outInWords } from './out-in-words.ts';
import { offlineOption, withLedger } from './with-ledger.ts';

interface ReportOptions {
  readonly month: string;
  readonly out?: string;
  readonly offline?: string;
}

/** `gateway ledger report`: the books of a month, as a page for people or as numbers. */
export function addReportCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('report')
    .description(
      "the books of a month as one HTML page that loads nothing and prints on A4: credits sold, spent, expired and outstanding, revenue by model, exceptions; to a file, or to the terminal's pipe",
    )
    .requiredOption('--month <YYYY-MM>', 'a calendar month (UTC), by when its events were written down', monthArgument)
    .option('--out <file>', 'a new file for the page, for its owner alone; - is the answer itself', pathArgument, '-')
    .addOption(offlineOption())
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger report --month 2027-01 --out books.html\n  gateway ledger report --month 2027-01 --json | jq .closing',
    )
    .action(async ({ month, out = '-', offline }: ReportOptions, command: Command) => {
      const make = (): Promise<Made> =>
        withLedger(offline, { context, command }, async (log) => {
          await warnOfHidden(log, context);
          return makeBooks(logWithProgress(log, context), month, context.clock());
        }).catch((error: unknown) => {
          if (!(error instanceof UnbookableError || error instanceof UnreadableEventError)) throw error;
          throw new CommandError(`${error.message}; gateway ledger verify tells more`, EXIT.faults);
        });
      const { books, page } = await (out === '-' ? make() : written(out, make));
      if (out === '-' && globalOptions(command).json !== true) writeData(context, page);
      else show(context, command, { json: jsonOf(books), text: () => textOf(books, out) });
      context.whenUnread?.(null);
      const differing = books.checks.filter(({ one, other }) => one !== other);
      if (differing.length > 0)
        throw new CommandError(
          `totals of the month do not agree: ${differing.map(({ what }) => what).join('; ')}`,
          EXIT.faults,
        );
    });
}

interface Made {
  readonly books: Books;
  readonly page: string;
}

/** What makes the page is loaded where one is made, and by no other command. */
async function makeBooks(log: ReadableLog, month: string, nowMs: number): Promise<Made> {
  const { MonthBooks } = await import('../../../ledger/report/month-books.ts');
  const { SealCoverage } = await import('../../../ledger/report/seal-coverage.ts');
  const { bookPage } = await import('../../../ledger/report/page.ts');
  const seals = new SealCoverage(month);
  for await (const recorded of log.readStream(SEALS_STREAM)) seals.add(recorded);
  const reading = new MonthBooks(month, seals);
  for await (const recorded of log.readAll()) reading.take(recorded);
  const books = reading.result();
  return { books, page: bookPage(books, new Date(nowMs).toISOString()) };
}

async function written(out: string, make: () => Promise<Made>): Promise<Made> {
  const { OutFile } = await import('../../../ledger/export/out-file.ts');
  try {
    return await OutFile.write(out, async (file) => {
      const made = await make();
      await file.write(made.page);
      return made;
    });
  } catch (error) {
    throw outInWords(error, out);
  }
}

const jsonOf = ({ notes, payments, seals, ...books }: Books): unknown => ({
  ...books,
  payments: {
    ...payments.sums,
    received: receivedIn(payments),
    oneByOne: payments.notes.all,
    leftOut: payments.notes.leftOut,
  },
  seals: { ...seals, keys: [...seals.keys] },
  notes: notes.all,
  notesLeftOut: notes.leftOut,
  unpriced: [...notes.unpriced.values()],
  unpricedLeftOut: notes.unpricedLeftOut,
});

/** Lines of which those between the balances add up to the second. */
function textOf({ opening, closing, moved, models, payments }: Books, out: string): string {
  const { trial, promotion, adjustment } = moved.granted;
  const given = trial.amount + promotion.amount + adjustment.amount;
  return facts([
    ['opening balance', `${groupedUsd(opening)} USD`],
    ['sold', `${groupedUsd(soldIn(moved))} USD`],
    ['given', `${groupedUsd(given)} USD`],
    ['reinstated', `${groupedUsd(moved.reinstated)} USD`],
    ['spent', `${groupedUsd(-spentBy(moved))} USD`],
    ['expired', `${groupedUsd(-moved.expired)} USD`],
    ['corrected', `${groupedUsd(correctedBy(moved))} USD`],
    ['closing balance', `${groupedUsd(closing)} USD`],
    ['payments', `${groupedUsd(receivedIn(payments))} USD received`],
    ['models', String(models.length)],
    ['written to', out],
  ]);
}

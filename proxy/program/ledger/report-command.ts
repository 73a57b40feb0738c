import { type Command, Option } from 'commander';
import type { ReadableLog } from '../../../contracts/event-log.ts';
import { SEALS_STREAM } from '../../../contracts/ids.ts';
import { groupedCount, groupedUsd } from '../../../contracts/money.ts';
import { UnreadableEventError } from '../../../contracts/unreadable-event-error.ts';
import { UnbookableError } from '../../../ledger/postings/customer-books.ts';
import { type Books, unfinished } from '../../../ledger/report/books.ts';
import { correctedBy, givenIn, soldIn, spentBy } from '../../../ledger/report/movements.ts';
import { receivedIn } from '../../../ledger/report/payments-book.ts';
import { assertBegun, monthArgument, pathArgument, productArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, globalOptions } from '../command-context.ts';
import { NO_ACCOUNTS, refuseProduct } from '../product-words.ts';
import { assertNotJson, facts, show, type Terminal, table, wrapped, writeData } from '../show.ts';
import { logWithProgress, warnOfHidden } from './log-with-progress.ts';
import { outInWords } from './out-in-words.ts';
import { offlineOption, withLedger } from './with-ledger.ts';

const FORMATS = ['table', 'json', 'html'] as const;

interface ReportOptions {
  readonly month: string;
  readonly format?: (typeof FORMATS)[number];
  readonly product?: string;
  readonly out?: string;
  readonly offline?: string;
}

/** `gateway ledger report`: the books of a month, as a page or in figures. */
export function addReportCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('report')
    .description(
      'the books of a month: credits sold, spent and expired, revenue by model; with --out, or --format html, also what is outstanding, accounts, payments, exceptions and checks, as one HTML page that loads nothing and prints on A4',
    )
    .requiredOption('--month <YYYY-MM>', 'a calendar month (UTC), by when its events were written down', monthArgument)
    .option('--product <name>', 'of the accounts of this product alone', productArgument)
    .addOption(
      new Option('--format <format>', 'which form; html where there is --out, table otherwise').choices(FORMATS),
    )
    .option('--out <file>', 'a new file for the page, for its owner alone; - is the answer itself', pathArgument)
    .addOption(offlineOption())
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger report --month 2027-01 --out books.html\n  gateway ledger report --month 2027-01 --json | jq .closing',
    )
    .action(async ({ month, product, format: asked, out: named, offline }: ReportOptions, command: Command) => {
      const format = asked ?? (named === undefined ? 'table' : 'html');
      if (named !== undefined && format !== 'html')
        throw new CommandError(`--out: of the page alone, and not of --format ${format}`, EXIT.usage);
      const out = named === '-' ? undefined : named;
      const isAsked = asked !== undefined || named === '-';
      if (isAsked && out === undefined && format !== 'json') assertNotJson(command, format);
      const make = (): Promise<Made> =>
        withLedger(offline, { context, command }, async (log) => {
          await warnOfHidden(log, context);
          return makeBooks(logWithProgress(log, context), { month, product, nowMs: context.clock() });
        }).catch((error: unknown) => {
          if (!(error instanceof UnbookableError || error instanceof UnreadableEventError)) throw error;
          throw new CommandError(`${error.message}; gateway ledger verify tells more`, EXIT.faults);
        });
      const made = await (out === undefined ? make() : written(out, make));
      const { books, madeAt } = made;
      const isJson = globalOptions(command).json === true || format === 'json';
      if (format === 'html' && out === undefined && !isJson) writeData(context, await pageOf(made));
      else
        show(context, command, {
          json: { ...jsonOf(books), out: out ?? null },
          isJson,
          text: () => textOf(books, { madeAt, out, context }),
        });
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
  readonly madeAt: string;
}

/** @throws CommandError where nothing is of the product, or of the month yet */
async function makeBooks(
  log: ReadableLog,
  { month, product, nowMs }: { readonly month: string; readonly product: string | undefined; readonly nowMs: number },
): Promise<Made> {
  const { MonthBooks } = await import('../../../ledger/report/month-books.ts');
  const { SealCoverage } = await import('../../../ledger/report/seal-coverage.ts');
  const seals = new SealCoverage(month);
  for await (const recorded of log.readStream(SEALS_STREAM)) seals.add(recorded);
  const reading = new MonthBooks(month, seals, product);
  for await (const recorded of log.readAll()) reading.take(recorded);
  // Books of nothing would say that nothing was sold.
  if (product !== undefined && !reading.products.has(product)) refuseProduct(product, NO_ACCOUNTS, reading.products);
  const books = reading.result(nowMs);
  // By a clock that is behind the ledger's a month has begun all the same.
  if (books.eventsOfMonth === 0) assertBegun(month, nowMs);
  const madeAt = new Date(nowMs).toISOString();
  return { books, madeAt };
}

/** What makes the page is loaded where one is made. */
async function pageOf({ books, madeAt }: Made): Promise<string> {
  const { bookPage } = await import('../../../ledger/report/page.ts');
  return bookPage(books, madeAt);
}

async function written(out: string, make: () => Promise<Made>): Promise<Made> {
  const { OutFile } = await import('../../../ledger/export/out-file.ts');
  try {
    return await OutFile.write(out, async (file) => {
      const made = await make();
      await file.write(await pageOf(made));
      return made;
    });
  } catch (error) {
    throw outInWords(error, out);
  }
}

const jsonOf = ({ notes, payments, seals, ...books }: Books): object => ({
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

interface ShownBooks extends Pick<Made, 'madeAt'> {
  /** The page's file; undefined where there is none. */
  readonly out: string | undefined;
  readonly context: Terminal;
}

/** Lines of which those between the balances add up to the second; and what each model has earned. */
function textOf(books: Books, { madeAt, out, context }: ShownBooks): string {
  const { month, product, opening, closing, moved, models, products, payments } = books;
  const open = unfinished(month, madeAt);
  const figures = facts(
    [
      ...(product === null ? [] : [['product', product] as const]),
      ['opening balance', `${groupedUsd(opening)} USD`],
      ['sold', `${groupedUsd(soldIn(moved))} USD`],
      ['given', `${groupedUsd(givenIn(moved))} USD`],
      ['reinstated', `${groupedUsd(moved.reinstated)} USD`],
      ['spent', `${groupedUsd(-spentBy(moved))} USD`],
      ['expired', `${groupedUsd(-moved.expired)} USD`],
      ['corrected', `${groupedUsd(correctedBy(moved))} USD`],
      ['closing balance', `${groupedUsd(closing)} USD`],
      ['payments', `${groupedUsd(receivedIn(payments))} USD received`],
      ['the whole page', out ?? '--format html, or --out FILE'],
    ],
    context,
  );
  const rows = models.map(({ model, lane, requests, spent, earned }) => [
    ...[model, lane, groupedCount(requests), groupedUsd(spent), groupedUsd(earned)],
  ]);
  const ofProducts = products.map(({ product: name, accounts, granted, spent, balance }) => [
    ...[name, groupedCount(accounts), ...[granted, spent, balance].map(groupedUsd)],
  ]);
  const heads = ['product', 'accounts', 'granted (USD)', 'spent (USD)', 'closing (USD)'];
  return [
    wrapped(`Books of ${month}, by when each event was written down (UTC).${open === null ? '' : ` ${open}`}`, context),
    figures,
    ...(ofProducts.length < 2 ? [] : [table(heads, ofProducts, context)]),
    ...(rows.length === 0 ? [] : [table(['model', 'lane', 'requests', 'spent (USD)', 'earned (USD)'], rows, context)]),
  ].join('\n\n');
}

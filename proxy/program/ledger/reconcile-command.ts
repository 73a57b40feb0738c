import { createReadStream, existsSync, statSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog, ReadableLog } from '../../../contracts/event-log.ts';
import type { EventData } from '../../../contracts/events.ts';
import { counted, groupedCount, groupedUsd, PICO_PER_MICRO } from '../../../contracts/money.ts';
import { knownProviders } from '../../../ledger/catalog/gateway-providers.ts';
import { whyNot } from '../../../ledger/named-file.ts';
import { COLUMNS } from '../../../ledger/reconcile/report-columns.ts';
import { assertThere, listArgument, pathArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog } from '../command-context.ts';
import { assertRange, rangeOptions } from '../range-options.ts';
import { fittingTable, paintedFacts, show } from '../show.ts';
import { logWithProgress, warnOfHidden } from './log-with-progress.ts';
import { offlineOption, withLedger } from './with-ledger.ts';

type Reconciled = EventData<'ProviderReconciled'>;

interface ReconcileCommandOptions {
  readonly provider: string;
  readonly from?: number;
  readonly to?: number;
  readonly ignore?: readonly string[];
  readonly record: boolean;
  readonly offline?: string;
}

/** `gateway ledger reconcile`: a provider's usage report against what the ledger has of it. */
export function addReconcileCommand(ledger: Command, context: CommandContext): void {
  const [begin, end] = rangeOptions();
  ledger
    .command('reconcile')
    .description(
      "compare a provider's usage or cost report (CSV or JSON, as its console or API gives it) with the ledger's usage of it: by" +
        ' request where the report names requests, else by day (UTC), model, tier and class of tokens, of requests that began' +
        " in the range, or else on the report's days. What that shows is recorded in the ledger, once",
    )
    .argument('<file>', 'the report', pathArgument)
    .requiredOption('--provider <name>', "the provider's name in the configuration", providerArgument)
    .addOption(begin)
    .addOption(end)
    .option('--ignore <columns>', 'columns of the report that do not matter', listArgument)
    .option('--no-record', 'only show it, as with --offline')
    .addOption(offlineOption())
    .addHelpText(
      'after',
      `\nColumns that a report may have: ${columnsInWords()}. Each may have the names that providers give it, too: ledger/reconcile/README.md has them all.` +
        '\n\nExamples:\n  gateway ledger reconcile usage.csv --provider example\n' +
        '  gateway ledger reconcile usage.ndjson --provider example --from 2027-01 --to 2027-01 --json',
    )
    .action(async (file: string, options: ReconcileCommandOptions, command: Command) => {
      const { from, to } = options;
      assertRange(from !== undefined && to !== undefined && from >= to);
      assertThere(file);
      if (existsSync(file) && statSync(file).isDirectory()) throw new CommandError(`${file}: is a folder`, EXIT.usage);
      const showResult = (result: Reconciled, recorded: keyof typeof RECORDED): void =>
        show(context, command, {
          json: { ...result, recorded },
          text: () => textOf(result, recorded, context),
          isPainted: true,
        });
      const compareIn = async (log: ReadableLog, configuration: Configuration | null) => {
        const known = configuration === null ? [] : knownProviders(configuration).names;
        await warnOfHidden(log, context);
        return compare(logWithProgress(log, context), file, { ...options, known });
      };
      // A file that is only read takes nothing.
      if (!options.record || options.offline !== undefined)
        return showResult(await withLedger(options.offline, { context, command }, compareIn), 'no');
      await withEventLog(context, command, async (log, configuration) => {
        const result = await compareIn(log, configuration);
        showResult(result, (await record(log, result, context)) ? 'now' : 'before');
      });
    });
}

/** Of each the name to use in a report that is made by hand. */
const columnsInWords = (): string =>
  Object.values(COLUMNS)
    .map(([name]) => name)
    .join(', ');

function providerArgument(text: string): string {
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(text))
    throw new InvalidArgumentError('expected a provider as the configuration names it, such as example');
  return text;
}

/** What reads reports is loaded where one is read, and by no other command. */
async function compare(
  log: ReadableLog,
  file: string,
  { provider, known, from, to, ignore }: ReconcileCommandOptions & { readonly known: readonly string[] },
): Promise<Reconciled> {
  const { reconcile } = await import('../../../ledger/reconcile/reconcile.ts');
  const { ReportError } = await import('../../../ledger/reconcile/report-error.ts');
  const report = createReadStream(file);
  try {
    return await reconcile(report, log.readAll(), {
      provider,
      known,
      fromMs: from ?? null,
      toMs: to ?? null,
      ignored: ignore ?? [],
    });
  } catch (error) {
    if (error instanceof ReportError) throw new CommandError(`${file}: ${error.message}`, EXIT.usage);
    if (error instanceof Error && 'syscall' in error && 'path' in error)
      throw new CommandError(`${file}: ${whyNot(error)}`, EXIT.usage);
    throw error;
  } finally {
    report.destroy();
  }
}

async function record(log: EventLog, result: Reconciled, context: CommandContext): Promise<boolean> {
  const { recordReconciliation } = await import('../../../ledger/reconcile/record-reconciliation.ts');
  return recordReconciliation(log, result, recordingOf(context));
}

const RECORDED = { now: 'in the ledger, now', before: 'in the ledger already', no: 'no' } as const;
const DIFFERENCES_SHOWN = 20;

function textOf(result: Reconciled, recorded: keyof typeof RECORDED, context: CommandContext): string {
  const { provider, report, by, from, to, classes, counts, lines, linesLeftOut, differences, differencesLeftOut } =
    result;
  const shown = differences.slice(0, DIFFERENCES_SHOWN);
  const unshown = differences.length - shown.length + differencesLeftOut;
  return [
    paintedFacts(
      [
        ['provider', provider],
        ['report', `${counted(report.rows, 'row')}, SHA-256 ${report.sha256}`],
        [
          'left out',
          `${groupedCount(report.outside)} outside the time, ${groupedCount(report.withoutTokens)} not about tokens`,
        ],
        ['compared', `from ${from} to ${to}, by ${by === 'request' ? 'request' : 'day, model, tier and class'}`],
        ['tokens of', classes.length === 0 ? 'none: the report has amounts alone' : classes.join(', ')],
        ['matched', groupedCount(counts.matched)],
        ['mismatch', groupedCount(counts.mismatched)],
        ['ours only', groupedCount(counts.oursOnly)],
        ['theirs only', groupedCount(counts.theirsOnly)],
        ['recorded', RECORDED[recorded]],
      ],
      context,
    ),
    '',
    linesTable(lines, context),
    ...(linesLeftOut === 0 ? [] : [counted(linesLeftOut, 'more line')]),
    ...(shown.length === 0 ? [] : ['', differencesTable(shown, context)]),
    ...(unshown === 0 ? [] : [`${counted(unshown, 'more difference')}, of fewer tokens`]),
  ].join('\n');
}

const right = (head: string) => ({ head, align: 'right' }) as const;
const left = (head: string) => ({ head, align: 'left' }) as const;

/** Amounts are side by side and not one number: theirs is what they charge, ours what is charged for it. */
const linesTable = (lines: Reconciled['lines'], context: CommandContext): string =>
  fittingTable(
    [
      ...[left('model'), left('tier'), left('class'), right('our tokens'), right('their tokens'), right('difference')],
      ...[right('percent'), right('our USD'), right('their USD'), right('percent')],
    ],
    lines.map(({ model, tier, tokenClass, ours, theirs, oursAmount, theirsAmount }) => [
      ...[model, tier, tokenClass, groupedCount(ours)],
      ...(theirs === null ? ['', '', ''] : [groupedCount(theirs), signed(theirs - ours), percent(ours, theirs)]),
      groupedUsd(oursAmount / PICO_PER_MICRO),
      ...(theirsAmount === null
        ? ['', '']
        : [groupedUsd(theirsAmount / PICO_PER_MICRO), percent(oursAmount, theirsAmount)]),
    ]),
    context,
  );

const differencesTable = (differences: Reconciled['differences'], context: CommandContext): string =>
  fittingTable(
    [left('difference'), left('of'), left('model'), left('tier'), left('class: ours / theirs')],
    differences.map(({ kind, requestId, day, model, tier, tokens }) => [
      ...[kind, requestId ?? day ?? '', model, tier],
      tokens
        .map(({ tokenClass, ours, theirs }) => `${tokenClass}: ${groupedCount(ours)} / ${groupedCount(theirs)}`)
        .join(', '),
    ]),
    context,
  );

const signed = (value: bigint): string => (value > 0n ? `+${groupedCount(value)}` : groupedCount(value));

/** What theirs is more than ours, in percent of ours, to four decimals; nothing where there are none of ours. */
function percent(ours: bigint, theirs: bigint): string {
  if (ours === 0n) return '';
  const tenThousandths = ((theirs - ours) * 1_000_000n) / ours;
  const absolute = tenThousandths < 0n ? -tenThousandths : tenThousandths;
  const sign = tenThousandths > 0n ? '+' : tenThousandths < 0n ? '-' : '';
  return `${sign}${absolute / 10_000n}.${String(absolute % 10_000n).padStart(4, '0')}%`;
}

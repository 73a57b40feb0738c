import { type Command, Option } from 'commander';
import type { AccountId } from '../../../contracts/ids.ts';
import { groupedCount, groupedExactUsd, groupedUsd, PICO_PER_MICRO, picoUsd } from '../../../contracts/money.ts';
import { DECREASES, INCREASES } from '../../../contracts/statement-events.ts';
import { authorize } from '../../../ledger/account/authorize.ts';
import { isExpired } from '../../../ledger/account/grants.ts';
import { ownerOf } from '../../../ledger/account/members.ts';
import { endOfMonthMs } from '../../../ledger/account/month.ts';
import { csvLine } from '../../../ledger/export/csv-line.ts';
import { usdOfPico } from '../../../ledger/export/decimal-text.ts';
import { type MonthStatement, monthStatement } from '../../../ledger/report/month-statement.ts';
import {
  CARRIED,
  FIGURE_WORDS,
  PAYMENTS_LEFT_OUT,
  type StatementOf,
  statusSentence,
} from '../../../ledger/report/statement-words.ts';
import { accountArgument, assertBegun, monthArgument } from '../command-arguments.ts';
import { actorOf, type CommandContext, globalOptions, withReadLog } from '../command-context.ts';
import { assertNotJson, facts, show, type Terminal, table, writeData } from '../show.ts';
import { readAccount } from './run-account-command.ts';

const FORMATS = ['table', 'json', 'csv', 'html'] as const;
type Format = (typeof FORMATS)[number];

/** More would be no page. What programs read has all. */
const SHOWN_MAX = 5_000;

/** `gateway account statement`: a month of an account, closed or as far as it has come. */
export function addStatementCommand(account: Command, context: CommandContext): void {
  account
    .command('statement')
    .description(
      'the statement of a month: what the account had, what was granted, debited and corrected, and what it had at the end; of a month that is not closed yet its figures until now',
    )
    .argument('<account>', 'account id', accountArgument)
    .requiredOption('--month <YYYY-MM>', 'a calendar month (UTC)', monthArgument)
    .addOption(
      new Option('--format <format>', 'which form; html is one page that prints on A4')
        .choices(FORMATS)
        .default('table'),
    )
    .addHelpText(
      'after',
      '\nAs JSON amounts are whole micro-USD, but what is exact, `cost` of `items` and `carried`, which are pico-USD: a millionth of that. As CSV all are USD.' +
        '\n\nExamples:\n  gateway account statement acct_demo --month 2026-11\n  gateway account statement acct_demo --month 2026-11 --format html > statement.html',
    )
    .action(
      async (
        id: AccountId,
        { month, format }: { readonly month: string; readonly format: Format },
        command: Command,
      ) => {
        if (command.getOptionValueSource('format') === 'cli' && format !== 'json') assertNotJson(command, format);
        await withReadLog(context, command, async (log, configuration) => {
          const { state } = await readAccount(context, log, id, 'ShowStatement');
          const over = state.grants.filter((grant) => isExpired(grant, context.clock()));
          const isJson = globalOptions(command).json === true || format === 'json';
          const movementsMax = isJson || format === 'csv' ? Number.POSITIVE_INFINITY : SHOWN_MAX;
          const withPayments = authorize(actorOf(context), { type: 'ListPayments' }, state) === null;
          const statement = await monthStatement(log, id, month, over, { movementsMax, withPayments });
          if (isOfNothing(statement)) assertBegun(month, context.clock());
          const madeAt = new Date(context.clock()).toISOString();
          const dueAt = new Date(endOfMonthMs(month) + configuration.statements.graceMs).toISOString();
          const of = { accountId: id, email: ownerOf(state), product: state.organization.product, madeAt, dueAt };
          if (isJson) writeData(context, jsonText(statement, of));
          else if (format === 'csv') writeData(context, csvOf(statement, of));
          else if (format === 'html') writeData(context, await htmlOf(statement, of));
          else show(context, command, { json: null, text: () => textOf(statement, of, context) });
        });
      },
    );
}

const isOfNothing = ({ closed, sums, items, movements }: MonthStatement): boolean =>
  closed === null && items.length === 0 && movements.length === 0 && Object.values(sums).every((sum) => sum === 0n);

/** Its plots' package is loaded for it alone. */
async function htmlOf(statement: MonthStatement, of: StatementOf): Promise<string> {
  const { statementPage } = await import('../../../ledger/report/statement-page.ts');
  return statementPage(statement, of);
}

const jsonText = (statement: MonthStatement, of: StatementOf): string =>
  `${JSON.stringify({ ...of, ...statement }, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))}\n`;

/** One table, all USD with twelve decimals: each line says whose it is, of which month, whether that can change yet, and what of it. */
function csvOf(
  { month, status, opening, closing, ended, endedBefore, sums, items, carried, movements }: MonthStatement,
  { accountId }: StatementOf,
): string {
  const usd = (amount: bigint): string => usdOfPico(amount * PICO_PER_MICRO);
  const lines = [
    ['balance', '', 'opening', '', '', '', usd(opening)],
    ...INCREASES.map((figure) => ['balance', '', figure, '', '', '', usd(sums[figure])]),
    ...DECREASES.map((figure) => ['balance', '', figure, '', '', '', usd(-sums[figure])]),
    ['balance', '', 'closing', '', '', '', usd(closing)],
    ...(ended === 0n ? [] : [['balance', '', 'ended', '', '', '', usd(ended)]]),
    ...(endedBefore === 0n ? [] : [['balance', '', 'endedBefore', '', '', '', usd(endedBefore)]]),
    ...items.map(({ model, lane, item, count, cost }) => [
      ...['usage', '', item, model, lane, String(count), usdOfPico(cost)],
    ]),
    ...(items.length === 0 ? [] : [['usage', '', CARRIED, '', '', '', usdOfPico(-carried)]]),
    ...movements.map(({ at, what, figure, amount }) => [
      ...[figure ?? 'note', at, what, '', '', '', amount === null ? '' : usd(amount)],
    ]),
  ];
  return [
    ['account', 'month', 'status', 'kind', 'written down', 'what', 'model', 'lane', 'count', 'USD'],
    ...lines.map((line) => [accountId, month, status, ...line]),
  ]
    .map(csvLine)
    .join('');
}

function textOf(statement: MonthStatement, of: StatementOf, terminal: Terminal): string {
  const { opening, closing, sums, items, carried, movements, movementsLeftOut, withPayments } = statement;
  const usd = (amount: bigint): string => `${groupedUsd(amount)} USD`;
  const moved = movements.map(({ at, what, amount }) => [
    ...[at.slice(0, 19).replace('T', ' '), what, amount === null ? '' : groupedUsd(amount)],
  ]);
  const used = items.map(({ model, lane, item, count, cost }) => [
    ...[model, lane, item, String(count), groupedExactUsd(picoUsd(cost))],
  ]);
  if (used.length > 0) used.push(['', '', CARRIED, '', groupedExactUsd(picoUsd(-carried))]);
  return [
    statusSentence(statement, of),
    facts(
      [
        ['opening balance', usd(opening)],
        ...INCREASES.map((figure): [string, string] => [FIGURE_WORDS[figure], usd(sums[figure])]),
        ...DECREASES.map((figure): [string, string] => [FIGURE_WORDS[figure], usd(-sums[figure])]),
        ['closing balance', usd(closing)],
      ],
      terminal,
    ),
    ...(used.length === 0 ? [] : [table(['model', 'lane', 'what', 'count', 'USD'], used, terminal)]),
    ...(moved.length === 0 ? [] : [table(['written down (UTC)', 'what', 'USD'], moved, terminal)]),
    ...(withPayments ? [] : [PAYMENTS_LEFT_OUT]),
    ...(movementsLeftOut === 0
      ? []
      : [`Not shown here: ${groupedCount(movementsLeftOut)} more, which gateway ledger replay has`]),
  ].join('\n\n');
}

import { groupedUsd } from '../../../contracts/money.ts';
import { toTheSecond } from '../../../ledger/statement/sentences.ts';
import type { StatementLine } from '../../../ledger/statement/statement.ts';
import type { CommandContext } from '../command-context.ts';
import { plainTable } from '../show.ts';

/** Where answers go that are no terminal's. */
const COLUMNS = 120;
/** With less there is no room for a sentence beside the amounts. */
const COLUMNS_BESIDE_MIN = 108;
/** A terminal that says less, or nothing, is left to wrap by itself. */
const COLUMNS_MIN = 68;
const [REVISION, WHEN, AMOUNT] = [8, 19, 16];

/** Lines of a statement as aligned columns; on a narrow terminal each sentence stands below its amounts. */
export function statementTable(lines: readonly StatementLine[], context: CommandContext, withHead: boolean): string {
  const columns = Math.max(context.columns ?? COLUMNS, COLUMNS_MIN);
  const head = (text: string): string => (withHead ? text : '');
  const cells = lines.map(cellsOf);
  const amountWidth = Math.max(AMOUNT, ...cells.flatMap(({ sums }) => sums.map(({ length }) => length)));
  const before = [
    { head: head('revision'), align: 'right', width: REVISION },
    { head: head('when (UTC)'), align: 'left', width: WHEN },
  ] as const;
  const sums = [
    { head: head('amount (USD)'), align: 'right', width: amountWidth },
    { head: head('balance (USD)'), align: 'right', width: amountWidth },
  ] as const;
  const colourOf = (row: number): 'red' | null => (lines[row]?.fault == null ? null : 'red');
  const painting = { context, colourOf };
  const beside = columns - REVISION - WHEN - 2 * amountWidth - 4 * 2;
  if (columns >= COLUMNS_BESIDE_MIN)
    return plainTable(
      [...before, { head: head('what'), align: 'left', width: beside }, ...sums],
      cells.map((line) => [...line.place, line.sentence, ...line.sums]),
      painting,
    );
  const headless = [...before, ...sums].map((column) => ({ ...column, head: '' }));
  const below = [
    { align: 'right', head: '', width: REVISION } as const,
    { align: 'left', head: '', width: columns - REVISION - 2 } as const,
  ];
  const stacked = cells.flatMap(({ place, sentence, sums }, at) => [
    plainTable(headless, [[...place, ...sums]], { context, colourOf: () => colourOf(at) }),
    plainTable(below, [['', sentence]], { context, colourOf: () => colourOf(at) }),
  ]);
  return [...(withHead ? [plainTable([...before, ...sums], [], painting)] : []), ...stacked].join('\n');
}

const cellsOf = ({ revision, recordedAt, sentence, amount, balance }: StatementLine) => ({
  place: [String(revision), recordedAt === null ? 'unknown' : toTheSecond(recordedAt)],
  sentence,
  sums: [
    amount === null ? '' : `${amount > 0n ? '+' : ''}${groupedUsd(amount)}`,
    balance === null ? 'unknown' : groupedUsd(balance),
  ],
});

import { groupedUsd } from '../../../contracts/money.ts';
import { toTheSecond } from '../../../ledger/statement/sentences.ts';
import type { StatementLine } from '../../../ledger/statement/statement.ts';
import { plainTable } from '../show.ts';

/** Where answers go that are no terminal's. */
const COLUMNS = 120;
/** With less there is no room for a sentence beside the amounts. */
const COLUMNS_BESIDE_MIN = 108;
const [REVISION, WHEN, AMOUNT] = [8, 19, 16];

/** Lines of a statement as aligned columns; on a narrow terminal each sentence stands below its amounts. */
export function statementTable(lines: readonly StatementLine[], columns = COLUMNS, withHead = true): string {
  const head = (text: string): string => (withHead ? text : '');
  const amountWidth = Math.max(
    AMOUNT,
    ...lines.flatMap((line) =>
      cellsOf(line)
        .slice(-2)
        .map(({ length }) => length),
    ),
  );
  const before = [
    { head: head('revision'), align: 'right', width: REVISION },
    { head: head('when (UTC)'), align: 'left', width: WHEN },
  ] as const;
  const amounts = [
    { head: head('amount (USD)'), align: 'right', width: amountWidth },
    { head: head('balance (USD)'), align: 'right', width: amountWidth },
  ] as const;
  const gaps = 4 * 2;
  const beside = columns - REVISION - WHEN - 2 * amountWidth - gaps;
  if (columns >= COLUMNS_BESIDE_MIN)
    return plainTable(
      [...before, { head: head('what'), align: 'left', width: beside }, ...amounts],
      lines.map((line) => {
        const [revision = '', when = '', ...sums] = cellsOf(line);
        return [revision, when, line.sentence, ...sums];
      }),
    );
  const below = [
    { head: '', align: 'right', width: REVISION },
    { head: '', align: 'left', width: columns - REVISION - 2 },
  ] as const;
  return [
    ...(withHead ? [plainTable([...before, ...amounts], [])] : []),
    ...lines.flatMap((line) => [
      plainTable(
        [...before, ...amounts].map((column) => ({ ...column, head: '' })),
        [cellsOf(line)],
      ),
      plainTable(below, [['', line.sentence]]),
    ]),
  ].join('\n');
}

const cellsOf = ({ revision, recordedAt, amount, balance }: StatementLine): string[] => [
  String(revision),
  recordedAt === null ? 'unknown' : toTheSecond(recordedAt),
  amount === null ? '' : `${amount > 0n ? '+' : ''}${groupedUsd(amount)}`,
  balance === null ? 'unknown' : groupedUsd(balance),
];

import { setImmediate as nextTurn } from 'node:timers/promises';
import { stripVTControlCharacters, styleText } from 'node:util';
import Table from 'cli-table3';
import type { Command } from 'commander';
import { onOneLine } from '../../contracts/printable.ts';
import { type CommandContext, CommandError, EXIT, globalOptions } from './command-context.ts';

interface Shown {
  /** For machines (`--json`): one JSON value. */
  readonly json: unknown;
  /** Whether a machine asks, where a command has another word for that, too. */
  readonly isJson?: boolean;
  /** For people; drawn only where it is shown. */
  readonly text: string | (() => string);
  /** The text is for `writePainted`. */
  readonly isPainted?: boolean;
}

export function show(context: CommandContext, command: Command, shown: Shown): void {
  if (shown.isJson ?? isJson(command)) context.write(`${JSON.stringify(shown.json, bigintAsText)}\n`);
  else {
    const text = `${typeof shown.text === 'string' ? shown.text : shown.text()}\n`;
    if (shown.isPainted === true) writePainted(context, text);
    else context.write(text);
  }
}

export interface ShownRow<T> {
  readonly head: readonly string[];
  readonly cells: (row: T) => readonly Cell[];
  readonly json: (row: T) => unknown;
}

/** Any number, for machines as one array: each taken with its block; between blocks a reader may end the program. */
export async function showRows<T>(
  context: CommandContext,
  command: Command,
  rows: Iterable<T>,
  { head, cells, json }: ShownRow<T>,
): Promise<void> {
  let before = isJson(command) ? '[' : '';
  for (const block of blocksOf(rows)) {
    const text = isJson(command)
      ? block.map((row) => JSON.stringify(json(row), bigintAsText)).join(',\n')
      : table(head, block.map(cells), context);
    context.write(before + text);
    before = isJson(command) ? ',\n' : '\n';
    await nextTurn();
  }
  const isEmpty = before === '[' || before === '';
  if (isJson(command)) context.write(isEmpty ? '[]\n' : ']\n');
  else context.write(isEmpty ? `${table(head, [], context)}\n` : '\n');
}

const isJson = (command: Command): boolean => globalOptions(command).json === true;

/** By a command whose answer is asked for in a form of its own: neither that nor `--json` is passed over. @throws CommandError */
export function assertNotJson(command: Command, form: string): void {
  if (isJson(command))
    throw new CommandError(`--json: the answer is asked for as ${form}, too: leave one of them out`, EXIT.usage);
}

/**
 * The same of what was written, with the time that it was written with: where nothing else knows the time, a clock that
 * is ahead shows itself there alone. Null where it is so already, and nothing was written.
 */
export function showWritten(
  context: CommandContext,
  command: Command,
  recordedAt: string | null,
  { json, text }: { readonly json: Readonly<Record<string, unknown>>; readonly text: string },
): void {
  const when = recordedAt === null ? 'nothing was written: it is so already' : `written at ${recordedAt}`;
  show(context, command, { json: { ...json, recordedAt }, text: `${text}\n${when}` });
}

const bigintAsText = (_name: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);

/** A cell may have several lines; each is kept to one. */
type Cell = string | readonly string[];

/**
 * A long one in blocks, each with its head: drawing one takes the square of its rows. One that is too wide for the terminal is
 * drawn without lines, or as a block a row; where there is no terminal each row is a line, without lines around it.
 */
export const table = (head: readonly string[], rows: readonly (readonly Cell[])[], terminal: Terminal): string =>
  rows.length === 0
    ? draw(head, [], terminal)
    : [...blocksOf(rows)].map((block) => draw(head, block, terminal)).join('\n');

const ROWS_A_BLOCK = 100;

function* blocksOf<T>(rows: Iterable<T>): Generator<T[]> {
  let block: T[] = [];
  for (const row of rows) {
    block.push(row);
    if (block.length < ROWS_A_BLOCK) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}

function draw(head: readonly string[], rows: readonly (readonly Cell[])[], { columns }: Terminal): string {
  const linesOf = (cell: Cell): string[] => [cell].flat().map(onOneLine);
  const terminal = unpainted({ columns });
  if (columns !== undefined) {
    const drawn = new Table({ head: [...head], style: { head: [], border: [] } });
    drawn.push(...rows.map((row) => row.map((cell) => linesOf(cell).join('\n'))));
    const text = drawn.toString();
    // Its first line is a line of the table.
    if (text.indexOf('\n') <= columnsOf(terminal)) return text;
  }
  return fittingTable(
    head.map((name) => ({ head: name, align: 'left' })),
    rows.map((row) => row.map((cell) => linesOf(cell).join(', '))),
    terminal,
  );
}

/** A column without lines around it. */
interface PlainColumn {
  readonly head: string;
  readonly align: 'left' | 'right';
  /** What does not fit is wrapped; without one as wide as its widest cell. */
  readonly width?: number;
}

const NO_LINES = Object.fromEntries(
  ['top', 'bottom', 'left', 'mid', 'right']
    .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .map((part) => [part, '']),
);
const GAP = '  ';

type Colour = Extract<Parameters<typeof styleText>[0], 'bold' | 'red' | 'green'>;

/** What of a command's context tells how something is drawn for people. */
export type Terminal = Pick<CommandContext, 'columns' | 'writePainted'>;

/** How the cells of a table are to be painted: its heads are bold. */
interface Painting {
  readonly context: Terminal;
  readonly colourOf?: (row: number, column: number) => Colour | null;
}

/**
 * Aligned columns without lines, for what is long, or added up: nothing in a cell is ever cut off. Where it is painted it
 * is for `writePainted`.
 */
export function plainTable(
  columns: readonly PlainColumn[],
  rows: readonly (readonly string[])[],
  painting?: Painting,
): string {
  const drawn = new Table({
    chars: { ...NO_LINES, 'mid-mid': '', middle: GAP },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colWidths: columns.map(({ width }) => width ?? null),
    colAligns: columns.map(({ align }) => align),
    wordWrap: true,
  });
  const cellOf = (cell: string, column: number, colour: Colour | null | undefined): string => {
    const text = fitting(onOneLine(cell), columns[column]?.width);
    const isPainted = painting?.context.writePainted !== undefined && colour && text !== '';
    return isPainted ? styleText(colour, text, { validateStream: false }) : text;
  };
  if (columns.some(({ head }) => head !== '')) drawn.push(columns.map(({ head }, at) => cellOf(head, at, 'bold')));
  for (const [row, cells] of rows.entries())
    drawn.push(cells.map((cell, at) => cellOf(cell, at, painting?.colourOf?.(row, at))));
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Of these a character may take two columns. */
const WIDE = /[\u1100-\uffff]/g;

/** A word that is wider than its column would be cut. */
function fitting(cell: string, width = Number.POSITIVE_INFINITY): string {
  if (!Number.isFinite(width)) return cell;
  const isWide = cell.search(WIDE) >= 0;
  if (!isWide && cell.length <= width) return cell;
  const piece = new RegExp(`.{1,${isWide ? Math.max(1, Math.floor(width / 2)) : width}}`, 'gsu');
  return cell
    .split(' ')
    .flatMap((word) => word.match(piece) ?? [])
    .join(' ');
}

/** With fewer a terminal is left to wrap by itself, also one that does not say how many it has. */
const COLUMNS_LEAST = 40;

/** For what is not written by `writePainted`. */
const unpainted = ({ columns }: { readonly columns?: number | undefined }): Terminal =>
  columns === undefined ? {} : { columns };

/** In how many columns an answer has to find room. */
const columnsOf = ({ columns = 0 }: Terminal): number => (columns < COLUMNS_LEAST ? Number.POSITIVE_INFINITY : columns);

/** A table as `plainTable`; where it is too wide for the terminal each row is a block, with every cell behind its head. */
export function fittingTable(
  columns: readonly PlainColumn[],
  rows: readonly (readonly string[])[],
  context: Terminal,
): string {
  const width = columnsOf(context);
  const drawn = plainTable(columns, rows, { context });
  if (drawn.split('\n').every((line) => widthOf(line) <= width)) return drawn;
  const namedCells = (cells: readonly string[]) =>
    cells.flatMap((cell, at): [string, string][] => (cell === '' ? [] : [[columns[at + 1]?.head ?? '', cell]]));
  const blocks = rows.flatMap(([first = '', ...rest]) => [
    wrappedIn(width, first, { context }),
    ...indented(factsIn(width - INDENT.length, namedCells(rest), { context, leastBeside: CELL_COLUMNS_LEAST })),
  ]);
  return [wrapped(columns[0]?.head ?? '', context, 'bold'), ...blocks].join('\n');
}

/** Name and value, a line each; where there is too little room beside the name, the value stands below it. */
export const paintedFacts = (rows: readonly (readonly [string, string])[], context: Terminal): string =>
  factsIn(columnsOf(context), rows, { context, leastBeside: VALUE_COLUMNS_LEAST });

function factsIn(
  width: number,
  rows: readonly (readonly [string, string])[],
  { context, leastBeside }: { readonly context: Terminal; readonly leastBeside: number },
): string {
  const beside = width - Math.max(0, ...rows.map(([name]) => name.length)) - GAP.length;
  const isTooWide = rows.some(([, value]) => widthOf(value) > beside);
  const colourOf = (_row: number, column: number): Colour | null => (column === 0 ? 'bold' : null);
  if (beside >= leastBeside || !isTooWide) return plainTable([LEFT, inColumns(beside)], rows, { context, colourOf });
  return rows
    .flatMap(([name, value]) => [
      ...(name === '' ? [] : [wrappedIn(width, name, { context, colourOf })]),
      ...indented(wrappedIn(width - INDENT.length, value, { context })),
    ])
    .join('\n');
}

/** A line of text in as many as it needs. */
export const wrapped = (text: string, context: Terminal, colour: Colour | null = null): string =>
  wrappedIn(columnsOf(context), text, { context, colourOf: () => colour });

const wrappedIn = (width: number, text: string, painting: Painting): string =>
  plainTable([inColumns(width)], [[text]], painting);

const LEFT = { head: '', align: 'left' } as const;
const inColumns = (width: number): PlainColumn => (Number.isFinite(width) ? { ...LEFT, width } : LEFT);
const INDENT = '  ';
/** With less room beside its name a value stands below: one of a list of facts, one of a block of a table. */
const [VALUE_COLUMNS_LEAST, CELL_COLUMNS_LEAST] = [50, 16];

const indented = (text: string): string[] => text.split('\n').map((line) => INDENT + line);

/** How many columns of a terminal a line takes. */
const widthOf = (line: string): number => {
  const plain = stripVTControlCharacters(line);
  return plain.length + (plain.match(WIDE)?.length ?? 0);
};

/** Text with painted cells: as it is where there are colours. */
export const writePainted = (context: CommandContext, text: string): void =>
  (context.writePainted ?? context.write)(text);

/** A data format, for programs: as it is, but to a terminal. */
export const writeData = (context: CommandContext, text: string): void => (context.writeData ?? context.write)(text);

/** Name and value, a line each; as many as it needs where it is for a terminal. */
export const facts = (rows: readonly (readonly [string, string])[], terminal: Terminal = {}): string =>
  paintedFacts(rows, unpainted(terminal));

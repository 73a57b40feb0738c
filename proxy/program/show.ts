import { setImmediate as nextTurn } from 'node:timers/promises';
import { styleText } from 'node:util';
import Table from 'cli-table3';
import type { Command } from 'commander';
import { onOneLine } from '../../contracts/printable.ts';
import { type CommandContext, globalOptions } from './command-context.ts';

interface Shown {
  /** For machines (`--json`): one JSON value. */
  readonly json: unknown;
  /** For people; drawn only where it is shown. */
  readonly text: string | (() => string);
}

export function show(context: CommandContext, command: Command, shown: Shown): void {
  if (isJson(command)) context.write(`${JSON.stringify(shown.json, bigintAsText)}\n`);
  else context.write(`${typeof shown.text === 'string' ? shown.text : shown.text()}\n`);
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
      : table(head, block.map(cells));
    context.write(before + text);
    before = isJson(command) ? ',\n' : '\n';
    await nextTurn();
  }
  const isEmpty = before === '[' || before === '';
  if (isJson(command)) context.write(isEmpty ? '[]\n' : ']\n');
  else context.write(isEmpty ? `${table(head, [])}\n` : '\n');
}

const isJson = (command: Command): boolean => globalOptions(command).json === true;

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

/** A long one in blocks, each with its head: drawing one takes the square of its rows. */
export const table = (head: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  rows.length === 0 ? draw(head, []) : [...blocksOf(rows)].map((block) => draw(head, block)).join('\n');

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

function draw(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const drawn = new Table({ head: [...head], style: { head: [], border: [] } });
  drawn.push(...rows.map((row) => row.map((cell) => [cell].flat().map(onOneLine).join('\n'))));
  return drawn.toString();
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

/** How the cells of a table are to be painted: its heads are bold. */
interface Painting {
  readonly context: CommandContext;
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

/** A word that is wider than its column would be cut. */
function fitting(cell: string, width = Number.POSITIVE_INFINITY): string {
  // What lies beyond may take two columns a character.
  const isWide = /[\u1100-\uffff]/.test(cell);
  if (!isWide && cell.length <= width) return cell;
  const piece = new RegExp(`.{1,${isWide ? Math.floor(width / 2) : width}}`, 'gsu');
  return cell
    .split(' ')
    .flatMap((word) => (Number.isFinite(width) ? (word.match(piece) ?? []) : [word]))
    .join(' ');
}

/** Text with painted cells: as it is where there are colours. */
export const writePainted = (context: CommandContext, text: string): void =>
  (context.writePainted ?? context.write)(text);

/** Name and value, a line each. */
export function facts(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${onOneLine(value)}`).join('\n');
}

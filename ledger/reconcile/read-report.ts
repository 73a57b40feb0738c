import { pipeline, Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { parse } from 'csv-parse';
import { isObject, type JsonObject, jsonWithNumbers } from '../../contracts/json-object.ts';
import { ReportError } from './report-error.ts';

/** A row of a report: what stands in which column, by names in lower case. What is empty, or null, is not there. */
export interface RawRow {
  /** Where it is, for people. */
  readonly at: string;
  /** In the order of its columns; a name may stand twice. */
  readonly cells: readonly Cell[];
  /** Its cells are not divided by commas: whoever wrote it may have a comma before decimals, and points between thousands. */
  readonly mayHaveDecimalCommas: boolean;
}
type Cell = readonly [name: string, cell: string];

/** A JSON report that is one value is read whole; lines of any number are not. */
const DOCUMENT_CHARS_MAX = 256 * 1024 * 1024;
/** A row of a usage report has some thirty short cells. */
const RECORD_CHARS_MAX = 128 * 1024;

/**
 * The rows of a report, as it is read: CSV (with commas, semicolons or tabs), JSON, or JSON by lines. Answers of usage and cost
 * APIs are rows in buckets of time in pages: they are taken apart, and a row has its bucket's cells. @throws ReportError
 */
export async function* readReport(bytes: AsyncIterable<Buffer>): AsyncGenerator<RawRow> {
  const { start, text } = await firstOf(textOf(bytes));
  if (/^[[{]/.test(start.trimStart())) yield* readJson(text);
  else yield* readCsv(text, start);
}

async function* textOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let isFirst = true;
  for await (const chunk of bytes) {
    if (isFirst && UTF_16.test(chunk.toString('latin1', 0, 2)))
      throw new ReportError('it is text in UTF-16: save it as UTF-8');
    const text = decoder.write(chunk);
    yield isFirst ? text.replace(/^\ufeff/, '') : text;
    isFirst = false;
  }
  yield decoder.end();
}

/** A byte order mark, or a letter of ASCII in two bytes. */
const UTF_16 = /^(?:\xff\xfe|\xfe\xff|\0[^\0]|[^\0]\0)/;

/** The text up to its first line's end, and all of it. */
async function firstOf(text: AsyncGenerator<string>): Promise<{ start: string; text: AsyncGenerator<string> }> {
  let start = '';
  let isBegun = false;
  while (start.length < RECORD_CHARS_MAX) {
    const { done, value } = await text.next();
    if (done === true) break;
    start += value;
    // Each character is looked at once: an answer of an API is all one line.
    const begin: number = isBegun ? 0 : value.search(/\S/);
    isBegun ||= begin >= 0;
    if (isBegun && value.includes('\n', begin)) break;
  }
  if (!isBegun) throw new ReportError('there is nothing in it');
  return { start, text: joined(start, text) };
}

async function* joined(start: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield start;
  yield* rest;
}

async function* readCsv(text: AsyncGenerator<string>, start: string): AsyncGenerator<RawRow> {
  const delimiter = delimiterOf(start);
  const mayHaveDecimalCommas = delimiter !== ',';
  const parser = parse({
    delimiter,
    info: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: RECORD_CHARS_MAX,
  });
  // Whoever reads the parser is told, too.
  pipeline(Readable.from(text), parser, () => undefined);
  let columns: string[] | null = null;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (columns === null) columns = record.map(nameOf);
      else {
        const cells = filled(columns.map((name, at) => [name, record[at] ?? '']));
        yield { at: `line ${info.lines}`, cells, mayHaveDecimalCommas };
      }
    }
  } catch (error) {
    if (error instanceof ReportError) throw error;
    throw new ReportError(`it cannot be read as CSV: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Whichever the first line has most of. */
function delimiterOf(start: string): string {
  const [line = ''] = start.trimStart().split('\n', 1);
  const [most = ','] = [',', ';', '\t'].sort((one, other) => line.split(other).length - line.split(one).length);
  return most;
}

const nameOf = (column: string): string =>
  column
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');

const filled = (cells: readonly Cell[]): Cell[] => cells.filter(([, cell]) => cell !== '');

async function* readJson(text: AsyncGenerator<string>): AsyncGenerator<RawRow> {
  const rows = new JsonRows();
  /** Without an end of a line, but for what has turned out as a document: looked at once, and put together once. */
  let before: string[] = [];
  let chars = 0;
  let line = 0;
  let isDocument = false;
  for await (const chunk of text) {
    chars += chunk.length;
    if (chars > DOCUMENT_CHARS_MAX)
      throw new ReportError('it is one JSON value of more than 256 MiB: give one row a line');
    before.push(chunk);
    if (isDocument || !chunk.includes('\n')) continue;
    let rest = before.join('');
    while (!isDocument) {
      const end = rest.indexOf('\n');
      if (end === -1) break;
      const value = jsonOf(rest.slice(0, end));
      // A value that goes on behind its first line is not one of several.
      isDocument = value === undefined && line === 0;
      if (isDocument) break;
      line += 1;
      if (rest.slice(0, end).trim() !== '') yield* rows.of(value, `line ${line}`);
      rest = rest.slice(end + 1);
    }
    before = [rest];
    chars = rest.length;
  }
  const rest = before.join('');
  if (rest.trim() !== '') yield* rows.of(jsonOf(rest), isDocument ? 'the JSON' : `line ${line + 1}`);
  if (rows.hasMore)
    throw new ReportError('its last page says has_more: fetch the pages that follow, and give them all');
}

/** Numbers are their digits: an amount is never a float. Undefined is no JSON. */
const jsonOf = (text: string): unknown =>
  text.trim() === '' ? null : jsonWithNumbers(text, (_value, spelling) => spelling);

/** Takes apart what usage APIs answer: pages (`data`) of buckets (`results`) of rows. */
class JsonRows {
  hasMore = false;

  *of(value: unknown, at: string): Generator<RawRow> {
    if (value === undefined) throw new ReportError(`${at} is no JSON`);
    if (Array.isArray(value)) {
      for (const [index, one] of value.entries()) yield* this.of(one, `${at}, item ${index + 1}`);
      return;
    }
    if (!isObject(value)) throw new ReportError(`${at} is no object`);
    const { data, results, has_more: hasMore, ...own } = value;
    if (Array.isArray(data)) {
      this.hasMore = hasMore === true;
      yield* this.of(data, at);
    } else if (Array.isArray(results)) {
      for (const [index, row] of results.entries()) {
        if (!isObject(row)) throw new ReportError(`${at}, result ${index + 1} is no object`);
        yield rowOf({ ...own, ...row }, `${at}, result ${index + 1}`);
      }
    } else yield rowOf(value, at);
  }
}

const rowOf = (row: JsonObject, at: string): RawRow => ({ at, cells: filled(flat(row)), mayHaveDecimalCommas: false });

/** `{ "amount": { "value": 1 } }` is the cell `amount.value`. */
function flat(row: JsonObject, above = ''): [string, string][] {
  return Object.entries(row).flatMap(([name, value]): [string, string][] => {
    const column = above + nameOf(name);
    if (value === null || value === undefined) return [];
    if (isObject(value)) return flat(value, `${column}.`);
    return [[column, typeof value === 'string' ? value.trim() : JSON.stringify(value)]];
  });
}

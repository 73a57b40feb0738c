import { z } from 'zod';
import { NOT_ON_A_LINE } from '../../contracts/printable.ts';
import type { RawRow } from './read-report.ts';
import {
  CLASS_NAMES,
  COLUMNS,
  IDLE_COLUMNS,
  type Meaning,
  REPORT_CLASSES,
  type ReportClass,
} from './report-columns.ts';
import { ReportError } from './report-error.ts';

/** What a row of a provider's report says. Tokens by class, amounts in pico-USD; what it does not say is absent. */
export interface ReportRow {
  readonly requestId: string | null;
  readonly atMs: number | null;
  readonly endMs: number | null;
  readonly model: string | null;
  readonly tier: string | null;
  readonly tokens: ReadonlyMap<ReportClass, number>;
  readonly cost: bigint | null;
  /** Whether it says how many tokens there were, or what they cost. */
  readonly isOfTokens: boolean;
  /** The one class that the row is of, where there is a row for each. */
  readonly tokenClass: ReportClass | null;
}

const MEANINGS = new Map<string, Meaning>(
  Object.entries(COLUMNS).flatMap(([meaning, names]) => names.map((name) => [name, meaning as Meaning] as const)),
);

/** Reads rows, and remembers of what columns they were. */
export class ReportRows {
  readonly #ignored: ReadonlySet<string>;
  readonly #unknown = new Set<string>();
  readonly #seen = new Set<Meaning>();

  /** @param ignored columns that an operator has said to leave out */
  constructor(ignored: readonly string[] = []) {
    this.#ignored = new Set(ignored.map((name) => name.toLowerCase()));
  }

  /** Whether any row had a column of a meaning. */
  has(meaning: Meaning): boolean {
    return this.#seen.has(meaning);
  }

  /** @throws ReportError where a row had a column of which nobody knows what it means */
  assertKnown(): void {
    if (this.#unknown.size === 0) return;
    const named = [...this.#unknown].slice(0, 20).map((name) => JSON.stringify(name));
    throw new ReportError(
      `it has columns that are not known: ${named.join(', ')}; known are ${[...MEANINGS.keys()].join(', ')}. ` +
        'Leave out what does not matter with --ignore',
    );
  }

  /** @throws ReportError that names the row and its fault */
  read({ at, cells, mayHaveDecimalCommas }: RawRow): ReportRow {
    const row = new MeantCells(at, mayHaveDecimalCommas);
    for (const [name, cell] of cells) {
      const meaning = MEANINGS.get(name);
      if (this.#ignored.has(name)) continue;
      if (meaning === undefined) {
        if (!IDLE_COLUMNS.has(name)) this.#unknown.add(name);
        continue;
      }
      row.add(meaning, name, cell);
      this.#seen.add(meaning);
    }
    return row.read();
  }
}

/** The cells of a row by what they mean. */
class MeantCells {
  readonly #at: string;
  readonly #mayHaveDecimalCommas: boolean;
  readonly #cells = new Map<Meaning, { readonly name: string; readonly cell: string }>();

  constructor(at: string, mayHaveDecimalCommas: boolean) {
    this.#at = at;
    this.#mayHaveDecimalCommas = mayHaveDecimalCommas;
  }

  /** @throws ReportError where another column of that meaning says something else: which of them is meant, nobody knows */
  add(meaning: Meaning, name: string, cell: string): void {
    const before = this.#cells.get(meaning);
    if (before === undefined) this.#cells.set(meaning, { name, cell });
    else if (cell !== before.cell && this.#valueOf(meaning, cell) !== this.#valueOf(meaning, before.cell))
      throw this.#differing([before.name, before.cell], [name, cell]);
  }

  read(): ReportRow {
    const tokenClass = this.#ofClass();
    const tokens = this.#tokens(tokenClass);
    const cost = this.#cost();
    return {
      requestId: this.#text('requestId'),
      atMs: this.#instant('time'),
      endMs: this.#instant('end'),
      model: this.#text('model'),
      tier: this.#isBatch() ? 'batch' : tierOf(this.#text('tier')),
      ...{ tokens, cost, tokenClass },
      isOfTokens: (tokens.size > 0 || cost !== null) && (this.#get('costType') ?? 'tokens').toLowerCase() === 'tokens',
    };
  }

  /** What a cell says, however it is written. */
  #valueOf(meaning: Meaning, cell: string): unknown {
    const alone = new MeantCells(this.#at, this.#mayHaveDecimalCommas);
    alone.add(meaning, COLUMNS[meaning][0], cell);
    switch (meaning) {
      case 'requestId':
      case 'model':
        return cell;
      case 'costType':
      case 'currency':
        return cell.toLowerCase();
      case 'time':
      case 'end':
        return alone.#instant(meaning);
      case 'tier':
        return tierOf(cell);
      case 'batch':
        return alone.#isBatch();
      case 'tokenClass':
        return alone.#ofClass();
      case 'costUsd':
      case 'costCents':
        return alone.#cost();
      default:
        return alone.#count(meaning);
    }
  }

  #get(meaning: Meaning): string | undefined {
    return this.#cells.get(meaning)?.cell;
  }

  #differing(...columns: readonly (readonly [name: string, cell: string])[]): ReportError {
    const said = columns.map(([name, cell]) => `${name} ${quoted(cell)}`).join(' and ');
    return new ReportError(
      `${this.#at}: ${said} mean the same, and do not say the same: leave one of them out with --ignore`,
    );
  }

  /** Two meanings that may only differ where one of them is not there. */
  #assertSame(one: Meaning, other: Meaning, isSame: boolean): void {
    const [a, b] = [this.#cells.get(one), this.#cells.get(other)];
    if (!isSame && a !== undefined && b !== undefined) throw this.#differing([a.name, a.cell], [b.name, b.cell]);
  }

  #text(meaning: Meaning): string | null {
    return textOf(this.#get(meaning), `${this.#at}: ${COLUMNS[meaning][0]}`);
  }

  #instant(meaning: Meaning): number | null {
    return instantOf(this.#get(meaning), this.#at);
  }

  #isBatch(): boolean {
    const cell = this.#get('batch')?.toLowerCase() ?? 'false';
    const is = BATCH.get(cell);
    if (is === undefined) throw new ReportError(`${this.#at}: batch: ${quoted(cell)} is neither true nor false`);
    return is;
  }

  /** Null where the row is of no tokens: searches, hours of a container. */
  #ofClass(): ReportClass | null {
    const cell = this.#get('tokenClass');
    return cell === undefined ? null : classOf(cell, this.#at);
  }

  #tokens(tokenClass: ReportClass | null): ReadonlyMap<ReportClass, number> {
    const tokens = new Map<ReportClass, number>();
    const set = (name: ReportClass, value: number | undefined): void => {
      if (value !== undefined) tokens.set(name, value);
    };
    if (tokenClass !== null) {
      set(tokenClass, this.#count('tokens'));
      return tokens;
    }
    for (const name of REPORT_CLASSES) set(name, this.#count(name));
    if (tokens.has('cacheWrite5m') || tokens.has('cacheWrite1h')) tokens.delete('cacheWrite');
    const [some, cached] = [this.#count('someInput'), this.#count('cachedInput')];
    this.#assertSame('cacheRead', 'cachedInput', tokens.get('cacheRead') === cached);
    if (cached !== undefined) tokens.set('cacheRead', cached);
    if (some === undefined || tokens.has('input')) return tokens;
    const input = some - (cached ?? 0);
    if (input < 0) throw new ReportError(`${this.#at}: more tokens were read from a cache than there were of input`);
    return tokens.set('input', input);
  }

  #count(meaning: Meaning): number | undefined {
    const cell = this.#get(meaning);
    if (cell === undefined) return undefined;
    const where = `${this.#at}: ${COLUMNS[meaning][0]}`;
    this.#assertClear(cell, where);
    const count = COUNT.test(cell) ? Number(cell.replaceAll(',', '')) : Number.NaN;
    if (!Number.isSafeInteger(count)) throw new ReportError(`${where}: ${quoted(cell)} is no whole number of tokens`);
    return count;
  }

  #cost(): bigint | null {
    const currency = this.#get('currency');
    if (currency !== undefined && currency.toLowerCase() !== 'usd')
      throw new ReportError(`${this.#at}: amounts in ${quoted(currency)}; only USD can be compared`);
    const [usd, cents] = [this.#pico('costUsd', 12), this.#pico('costCents', 10)];
    this.#assertSame('costUsd', 'costCents', usd === cents);
    return usd ?? cents;
  }

  #pico(meaning: Meaning, power: number): bigint | null {
    const cell = this.#get(meaning);
    if (cell === undefined) return null;
    this.#assertClear(cell, this.#at);
    return picoOf(cell, power, this.#at);
  }

  /** Where commas may stand before decimals, one group of three digits is a thousand to one and a part to another. */
  #assertClear(cell: string, where: string): void {
    if (this.#mayHaveDecimalCommas && /^[$-]*[1-9]\d{0,2}[.,]\d{3}$/.test(cell))
      throw new ReportError(
        `${where}: ${quoted(cell)} may be thousands or decimals: write numbers with a point and without thousands' ` +
          'separators, and commas between cells',
      );
  }
}

const quoted = (cell: string): string => JSON.stringify(cell.slice(0, 40));

const BATCH: ReadonlyMap<string, boolean> = new Map(
  [...['true', 'yes', '1'], ...['false', 'no', '0']].map((name, at) => [name, at < 3]),
);

/** Of what is on top of ours there, and stands in the ledger. */
const TEXT_CHARS_MAX = 128;

function textOf(cell: string | undefined, where: string): string | null {
  if (cell === undefined) return null;
  if (cell.length > TEXT_CHARS_MAX || NOT_ON_A_LINE.test(cell))
    throw new ReportError(`${where}: expected at most ${TEXT_CHARS_MAX} characters, none of them hidden`);
  return cell;
}

const FAST = new Set(['fast', 'priority', 'priority_on_demand']);
const STANDARD = new Set(['standard', 'default', 'auto', 'on_demand']);

function tierOf(cell: string | null): string | null {
  if (cell === null) return null;
  const tier = cell.toLowerCase();
  return FAST.has(tier) ? 'fast' : STANDARD.has(tier) ? 'standard' : tier;
}

function classOf(cell: string, at: string): ReportClass | null {
  const name = cell.toLowerCase().replaceAll(/[\s-]+/g, '_');
  if (Object.hasOwn(CLASS_NAMES, name)) return CLASS_NAMES[name] ?? null;
  throw new ReportError(
    `${at}: token_type ${JSON.stringify(cell.slice(0, TEXT_CHARS_MAX))} is not known; known are ${Object.keys(CLASS_NAMES).join(', ')}`,
  );
}

/** An instant without an offset is UTC. */
function instantOf(cell: string | undefined, at: string): number | null {
  if (cell === undefined) return null;
  if (/^\d{9,11}$/.test(cell)) return Number(cell) * 1_000;
  const [day = '', time] = cell.split(/[T ](.*)/);
  const isDay = z.iso.date().safeParse(day).success;
  const ms = isDay
    ? Date.parse(time === undefined ? day : `${day}T${time}${OFFSET.test(time) ? '' : 'Z'}`)
    : Number.NaN;
  if (Number.isNaN(ms)) throw new ReportError(`${at}: ${quoted(cell)} is no day and no instant`);
  return ms;
}

const OFFSET = /(?:Z|[+-]\d\d:?\d\d)$/i;

/** Thousands are in groups, or are not. Three noughts behind a point may be thousands of another language. */
const COUNT = /^(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.(?!000$)0+)?$/;
const DECIMAL = /^\$?(-?)\$?(\d{1,15}|[1-9]\d{0,2}(?:,\d{3}){1,4})(?:\.(\d{0,40}))?(?:[eE]([+-]?\d{1,2}))?$/;

/** A thousand million million USD: with as many rows as there may be, an event has room for the sum. */
const PICO_MAX = 10n ** 27n;

/** A decimal text times ten to a power, in whole numbers; what is smaller is rounded to the nearest, halves up. */
function picoOf(cell: string, power: number, at: string): bigint {
  const match = DECIMAL.exec(cell);
  if (match === null) throw new ReportError(`${at}: ${quoted(cell)} is no amount with a point before its decimals`);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole.replaceAll(',', '') + fraction);
  const shift = power + Number(exponent) - fraction.length;
  const value =
    shift >= 0 ? digits * 10n ** BigInt(shift) : (digits + 5n * 10n ** BigInt(-shift - 1)) / 10n ** BigInt(-shift);
  if (value >= PICO_MAX) throw new ReportError(`${at}: ${quoted(cell)} is more than all the money there is`);
  return sign === '-' ? -value : value;
}

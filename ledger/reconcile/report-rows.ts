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
  read({ at, cells }: RawRow): ReportRow {
    const meant = new Map<Meaning, string>();
    for (const [name, cell] of cells) {
      const meaning = MEANINGS.get(name);
      if (this.#ignored.has(name)) continue;
      if (meaning === undefined) {
        if (!IDLE_COLUMNS.has(name)) this.#unknown.add(name);
      } else if (!meant.has(meaning)) {
        meant.set(meaning, cell);
        this.#seen.add(meaning);
      }
    }
    return rowOf(meant, at);
  }
}

function rowOf(cells: ReadonlyMap<Meaning, string>, at: string): ReportRow {
  const tokenClass = classOf(cells.get('tokenClass'), at);
  const tokens = tokensOf(cells, tokenClass, at);
  const cost = costOf(cells, at);
  const text = (meaning: Meaning): string | null => textOf(cells.get(meaning), `${at}: ${COLUMNS[meaning][0]}`);
  return {
    requestId: text('requestId'),
    atMs: instantOf(cells.get('time'), at),
    endMs: instantOf(cells.get('end'), at),
    model: text('model'),
    tier: cells.get('batch') === 'true' ? 'batch' : tierOf(text('tier')),
    ...{ tokens, cost, tokenClass },
    isOfTokens: (tokens.size > 0 || cost !== null) && (cells.get('costType') ?? 'tokens') === 'tokens',
  };
}

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

/** Null where the row is of no tokens: searches, hours of a container. */
function classOf(cell: string | undefined, at: string): ReportClass | null {
  if (cell === undefined) return null;
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
  if (Number.isNaN(ms)) throw new ReportError(`${at}: ${JSON.stringify(cell.slice(0, 40))} is no day and no instant`);
  return ms;
}

const OFFSET = /(?:Z|[+-]\d\d:?\d\d)$/i;

function tokensOf(
  cells: ReadonlyMap<Meaning, string>,
  tokenClass: ReportClass | null,
  at: string,
): ReadonlyMap<ReportClass, number> {
  const count = (meaning: Meaning): number | undefined => countOf(cells.get(meaning), `${at}: ${COLUMNS[meaning][0]}`);
  const tokens = new Map<ReportClass, number>();
  const set = (name: ReportClass, value: number | undefined): void => {
    if (value !== undefined) tokens.set(name, value);
  };
  if (tokenClass !== null) {
    set(tokenClass, count('tokens'));
    return tokens;
  }
  for (const name of REPORT_CLASSES) set(name, count(name));
  if (tokens.has('cacheWrite5m') || tokens.has('cacheWrite1h')) tokens.delete('cacheWrite');
  const [some, cached] = [count('someInput'), count('cachedInput')];
  if (cached !== undefined && !tokens.has('cacheRead')) tokens.set('cacheRead', cached);
  if (some === undefined || tokens.has('input')) return tokens;
  const input = some - (cached ?? 0);
  if (input < 0) throw new ReportError(`${at}: more tokens were read from a cache than there were of input`);
  return tokens.set('input', input);
}

function countOf(cell: string | undefined, where: string): number | undefined {
  if (cell === undefined) return undefined;
  const count = Number(cell.replaceAll(',', ''));
  if (!/^\d[\d,]*(?:\.0+)?$/.test(cell) || !Number.isSafeInteger(count))
    throw new ReportError(`${where}: ${JSON.stringify(cell.slice(0, 40))} is no whole number of tokens`);
  return count;
}

function costOf(cells: ReadonlyMap<Meaning, string>, at: string): bigint | null {
  const [usd, cents, currency] = (['costUsd', 'costCents', 'currency'] as const).map((meaning) => cells.get(meaning));
  if (currency !== undefined && currency.toLowerCase() !== 'usd')
    throw new ReportError(`${at}: amounts in ${JSON.stringify(currency.slice(0, 40))}; only USD can be compared`);
  if (usd !== undefined) return picoOf(usd, 12, at);
  return cents === undefined ? null : picoOf(cents, 10, at);
}

const DECIMAL = /^\$?(-?)\$?(\d{1,15})(?:\.(\d{0,40}))?(?:[eE]([+-]?\d{1,2}))?$/;

/** A thousand million million USD: with as many rows as there may be, an event has room for the sum. */
const PICO_MAX = 10n ** 27n;

/** A decimal text times ten to a power, in whole numbers; what is smaller is rounded to the nearest, halves up. */
function picoOf(cell: string, power: number, at: string): bigint {
  const match = DECIMAL.exec(cell.replaceAll(',', ''));
  if (match === null) throw new ReportError(`${at}: ${JSON.stringify(cell.slice(0, 40))} is no amount`);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  const shift = power + Number(exponent) - fraction.length;
  const value =
    shift >= 0 ? digits * 10n ** BigInt(shift) : (digits + 5n * 10n ** BigInt(-shift - 1)) / 10n ** BigInt(-shift);
  if (value >= PICO_MAX)
    throw new ReportError(`${at}: ${JSON.stringify(cell.slice(0, 40))} is more than all the money there is`);
  return sign === '-' ? -value : value;
}

import assert from 'node:assert/strict';
import type { EventData } from '../../contracts/events.ts';
import type { TokenCounts } from '../../contracts/usage.ts';
import { ComparedLines } from './compared-lines.ts';
import { Largest } from './largest.ts';
import type { OurUsage } from './our-usage.ts';
import { REPORT_CLASSES, type ReportClass } from './report-columns.ts';
import { ReportError } from './report-error.ts';
import type { ReportRow } from './report-rows.ts';

type Reconciled = EventData<'ProviderReconciled'>;
type Difference = Reconciled['differences'][number];
type Kind = Difference['kind'];

export interface ComparisonTerms {
  /** By the provider's request ids; else by day. */
  readonly by: 'request' | 'day';
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** What the report says tokens of: these are compared. */
  readonly classes: ReadonlySet<ReportClass>;
  /** What it says tokens or amounts of. */
  readonly shown: ReadonlySet<ReportClass>;
  /** Whether it tells tiers and models apart; otherwise all of ours are one. */
  readonly hasTier: boolean;
  readonly hasModel: boolean;
}

/** Where a report does not tell models, or tiers, apart. */
const ALL = 'all';
/** What an event has room for, with names of any writing. */
const DIFFERENCES_MAX = 100;

/** A request, or a day of a model and tier. Tokens in the order of REPORT_CLASSES; null where it does not stand. */
interface Entry {
  readonly requestId: string | null;
  readonly day: string | null;
  model: string;
  /** Empty where a row has said none, and it is not known whether others do. */
  tier: string;
  theirs: number[] | null;
  ours: number[] | null;
}

/**
 * A provider's report against ours: first all of theirs, then what was seen of them, then all of ours. Keeps what the report
 * has, and of ours what the report has no line for only as sums by model and tier, and the largest differences.
 */
export class Comparison {
  readonly #entries = new Map<string, Entry>();
  /** Of a request the model and tier are known with ours: it goes where the request stands then. */
  readonly #costs: { place: Entry; tokenClass: ReportClass | null; cost: bigint }[] = [];
  readonly #largest = new Largest<Difference>(DIFFERENCES_MAX, weightOf);
  readonly #counts = { matched: 0, mismatched: 0, oursOnly: 0, theirsOnly: 0 };
  #begun: { readonly terms: ComparisonTerms; readonly lines: ComparedLines } | null = null;

  addTheirs({ requestId, atMs, model, tier, tokens, tokenClass, cost }: ReportRow): void {
    const day = requestId === null && atMs !== null ? dayOf(atMs) : null;
    const entry = this.#entryOf(requestId, { day, model: model ?? ALL, tier: tier ?? '' });
    entry.theirs = sumOf(entry.theirs, (name) => tokens.get(name) ?? 0);
    if (cost !== null) this.#costs.push({ place: entry, tokenClass, cost });
  }

  /** All of theirs are there. */
  begin(terms: ComparisonTerms): void {
    this.#begun = { terms, lines: new ComparedLines(terms.classes, terms.shown) };
    for (const [key, entry] of [...this.#entries]) {
      if (terms.shown.has('cacheWrite')) entry.theirs = withWritesAsOne(entry.theirs);
      if (entry.tier !== '') continue;
      entry.tier = terms.hasTier ? 'standard' : ALL;
      if (terms.by === 'request') continue;
      this.#entries.delete(key);
      const { theirs } = entry;
      const same = this.#entryOf(null, entry);
      same.theirs = sumOf(same.theirs, (_name, at) => theirs?.[at] ?? 0);
    }
  }

  addOurs({ usage, lines }: OurUsage): void {
    const { terms, lines: compared } = this.#sides();
    const { by, hasTier, hasModel, fromMs, toMs, shown } = terms;
    const startedMs = Date.parse(usage.startedAt);
    const isInside = startedMs >= fromMs && startedMs < toMs;
    const requestId = by === 'request' ? usage.upstream.requestId : null;
    const named = requestId === null ? undefined : this.#entries.get(requestId);
    if (named === undefined && !isInside) return;
    const model = hasModel || by === 'request' ? usage.upstream.model.slice(0, 128) : ALL;
    const tier = hasTier || by === 'request' ? usage.lane : ALL;
    const tokens = (name: ReportClass): number => (shown.has(name) ? oursOf(usage.tokens, name) : 0);
    const day = by === 'day' ? dayOf(startedMs) : null;
    const entry =
      named ??
      (by === 'day' ? this.#entryOf(null, { day, model, tier }) : unnamed(usage.upstream.requestId, model, tier));
    entry.model = model;
    entry.tier = tier;
    entry.ours = sumOf(entry.ours, tokens);
    compared.addOurCosts(entry, lines);
    if (by === 'request' && named === undefined) this.#end(entry);
  }

  result(): Pick<Reconciled, 'counts' | 'lines' | 'linesLeftOut' | 'differences' | 'differencesLeftOut'> {
    for (const entry of this.#entries.values()) this.#end(entry);
    this.#entries.clear();
    const { lines } = this.#sides();
    for (const { place, tokenClass, cost } of this.#costs) lines.addTheirCost(place, tokenClass, cost);
    return {
      counts: { ...this.#counts },
      ...lines.result(),
      differences: this.#largest.all,
      differencesLeftOut: this.#largest.leftOut,
    };
  }

  #entryOf(requestId: string | null, { day, model, tier }: Pick<Entry, 'day' | 'model' | 'tier'>): Entry {
    const key = requestId ?? JSON.stringify([day, model, tier]);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { requestId, day, model, tier, theirs: null, ours: null };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #sides() {
    assert(this.#begun !== null, 'ours come when all of theirs are there');
    return this.#begun;
  }

  /** Nothing more comes to it. */
  #end(entry: Entry): void {
    const { terms, lines } = this.#sides();
    const { ours, theirs } = entry;
    const cells = REPORT_CLASSES.flatMap((tokenClass, at) => {
      const cell = { tokenClass, ours: BigInt(ours?.[at] ?? 0), theirs: BigInt(theirs?.[at] ?? 0) };
      return cell.ours === 0n && cell.theirs === 0n ? [] : [cell];
    });
    lines.addTokens(entry, cells);
    const compared = cells.filter(({ tokenClass }) => terms.classes.has(tokenClass));
    const { requestId, day, model, tier } = entry;
    const tell = (kind: Kind | 'matched', tokens: Difference['tokens']): void => {
      this.#counts[COUNT_OF[kind]] += 1;
      if (kind !== 'matched') this.#largest.add({ kind, requestId, day, model, tier, tokens });
    };
    if (terms.by === 'day') for (const cell of compared) tell(kindOf(cell.ours > 0n, cell.theirs > 0n, [cell]), [cell]);
    // A request that used nothing, as one that was refused, is in no report.
    else if (theirs !== null || compared.length > 0)
      tell(kindOf(ours !== null, theirs !== null, compared), compared.filter(differs));
  }
}

const COUNT_OF = {
  matched: 'matched',
  mismatch: 'mismatched',
  'ours only': 'oursOnly',
  'theirs only': 'theirsOnly',
} as const;

function kindOf(hasOurs: boolean, hasTheirs: boolean, cells: Difference['tokens']): Kind | 'matched' {
  if (!hasTheirs) return 'ours only';
  if (!hasOurs) return 'theirs only';
  return cells.some(differs) ? 'mismatch' : 'matched';
}

const differs = ({ ours, theirs }: Difference['tokens'][number]): boolean => ours !== theirs;

const weightOf = ({ tokens }: Difference): number =>
  tokens.reduce((sum, { ours, theirs }) => sum + Math.abs(Number(ours - theirs)), 0);

const unnamed = (requestId: string | null, model: string, tier: string): Entry => ({
  ...{ requestId, day: null, model, tier, theirs: null, ours: null },
});

function sumOf(before: number[] | null, added: (name: ReportClass, at: number) => number): number[] {
  return REPORT_CLASSES.map((name, at) => {
    const sum = (before?.[at] ?? 0) + added(name, at);
    if (!Number.isSafeInteger(sum))
      throw new ReportError('it has more tokens of one model on a day, or of one request, than can be counted exactly');
    return sum;
  });
}

/** What is said of cache writes by how long they are, and without, as one class. */
function withWritesAsOne(theirs: readonly number[] | null): number[] {
  const isWrite = (name: ReportClass): boolean => name.startsWith('cacheWrite');
  const of = (at: number): number => theirs?.[at] ?? 0;
  const writes = REPORT_CLASSES.reduce((sum, name, at) => (isWrite(name) ? sum + of(at) : sum), 0);
  return sumOf(null, (name, at) => (name === 'cacheWrite' ? writes : isWrite(name) ? 0 : of(at)));
}

const oursOf = (tokens: TokenCounts, name: ReportClass): number =>
  name === 'cacheWrite' ? tokens.cacheWrite5m + tokens.cacheWrite1h : tokens[name];

const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

import type { CreditsDebited, EventData } from '../../contracts/events.ts';
import { picoUsd } from '../../contracts/money.ts';
import { REPORT_CLASSES, type ReportClass } from './report-columns.ts';

type Line = EventData<'ProviderReconciled'>['lines'][number];
type LineClass = Line['tokenClass'];

/** Whose model and tier a line is of. */
interface Place {
  readonly model: string;
  readonly tier: string;
}

interface Sums {
  ours: bigint;
  theirs: bigint;
  oursAmount: bigint;
  theirsAmount: bigint | null;
}

const ORDER: readonly LineClass[] = [...REPORT_CLASSES, 'all'];
/** What an event has room for, with names of any writing. */
const LINES_MAX = 150;

/** Tokens and amounts by model, tier and class, with a line for the sum of each model and tier. */
export class ComparedLines {
  readonly #classes: ReadonlySet<ReportClass>;
  readonly #shown: ReadonlySet<ReportClass>;
  readonly #lines = new Map<string, Sums & Place & { readonly tokenClass: LineClass }>();

  constructor(classes: ReadonlySet<ReportClass>, shown: ReadonlySet<ReportClass>) {
    this.#classes = classes;
    this.#shown = shown;
  }

  addTokens(place: Place, cells: readonly { tokenClass: ReportClass; ours: bigint; theirs: bigint }[]): void {
    for (const { tokenClass, ours, theirs } of cells)
      for (const name of [tokenClass, 'all'] as const) {
        const sums = this.#of(place, name);
        sums.ours += ours;
        sums.theirs += theirs;
      }
  }

  addOurCosts(place: Place, lines: CreditsDebited['lines']): void {
    for (const { tokenClass, cost } of lines) {
      this.#of(place, 'all').oursAmount += cost;
      const shown = this.#shownAs(tokenClass);
      if (shown !== null) this.#of(place, shown).oursAmount += cost;
    }
  }

  /** @param tokenClass null where it is of all of them */
  addTheirCost(place: Place, tokenClass: ReportClass | null, cost: bigint): void {
    const shown = tokenClass === null ? null : this.#shownAs(tokenClass);
    for (const name of shown === null ? (['all'] as const) : ([shown, 'all'] as const)) {
      const sums = this.#of(place, name);
      sums.theirsAmount = (sums.theirsAmount ?? 0n) + cost;
    }
  }

  result(): { readonly lines: Line[]; readonly linesLeftOut: number } {
    const all = [...this.#lines.values()].sort(
      (one, other) =>
        compare(one.model, other.model) ||
        compare(one.tier, other.tier) ||
        ORDER.indexOf(one.tokenClass) - ORDER.indexOf(other.tokenClass),
    );
    const lines = all
      .slice(0, LINES_MAX)
      .map(({ model, tier, tokenClass, ours, theirs, oursAmount, theirsAmount }) => ({
        ...{ model, tier, tokenClass, ours },
        theirs: this.#isTold(tokenClass) ? theirs : null,
        oursAmount: picoUsd(oursAmount),
        theirsAmount: theirsAmount === null ? null : picoUsd(theirsAmount),
      }));
    return { lines, linesLeftOut: all.length - lines.length };
  }

  #isTold(tokenClass: LineClass): boolean {
    return tokenClass === 'all' ? this.#classes.size > 0 : this.#classes.has(tokenClass);
  }

  #shownAs(tokenClass: ReportClass): ReportClass | null {
    if (this.#shown.has(tokenClass)) return tokenClass;
    return tokenClass.startsWith('cacheWrite') && this.#shown.has('cacheWrite') ? 'cacheWrite' : null;
  }

  #of({ model, tier }: Place, tokenClass: LineClass): Sums {
    const key = JSON.stringify([model, tier, tokenClass]);
    let sums = this.#lines.get(key);
    if (sums === undefined) {
      sums = { model, tier, tokenClass, ours: 0n, theirs: 0n, oursAmount: 0n, theirsAmount: null };
      this.#lines.set(key, sums);
    }
    return sums;
  }
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

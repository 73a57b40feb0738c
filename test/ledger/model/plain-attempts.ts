export interface PlainAttempt {
  readonly kind: 'purchase' | 'reload' | 'renewal' | 'upgrade';
  readonly provider: string;
  readonly credits: bigint;
  readonly price: bigint;
  readonly startedMs: number;
  /** Of a plan, that it pays for. */
  readonly period: { readonly plan: string; readonly fromMs: number; readonly toMs: number } | null;
  state: 'open' | 'waits' | 'failed' | 'abandoned' | 'paid';
  payment: string | null;
  readonly refunds: Record<string, bigint>;
  readonly disputes: Record<string, { readonly amount: bigint; outcome: string | null }>;
}

type Begun = Pick<PlainAttempt, 'kind' | 'provider' | 'credits' | 'price' | 'period'> & { readonly nowMs: number };

export const isOpen = ({ state }: PlainAttempt): boolean => state === 'open' || state === 'waits';

/** The money that its disputes have. */
export const lostOrOpen = ({ disputes }: PlainAttempt): bigint =>
  Object.values(disputes).reduce((all, { amount, outcome }) => (outcome === 'won' ? all : all + amount), 0n);

/** Of an account, in their order. */
export class PlainAttempts {
  readonly #byId: Record<string, PlainAttempt> = {};

  get all(): PlainAttempt[] {
    return Object.values(this.#byId);
  }

  /** Each in a line. */
  get told(): Record<string, string> {
    const lines = Object.entries(this.#byId).map(([id, { kind, state, price, credits }]) => [
      id,
      `${kind} ${state === 'waits' ? 'action required' : state} ${price} ${credits}`,
    ]);
    return Object.fromEntries(lines);
  }

  find(id: string): PlainAttempt | undefined {
    return this.#byId[id];
  }

  begin(id: string, { nowMs, ...what }: Begun): PlainAttempt {
    const begun = { ...what, startedMs: nowMs, state: 'open', payment: null, refunds: {}, disputes: {} } as const;
    const attempt: PlainAttempt = { ...begun };
    this.#byId[id] = attempt;
    return attempt;
  }
}

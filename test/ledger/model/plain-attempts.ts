export interface PlainAttempt {
  readonly kind: 'purchase' | 'reload' | 'renewal' | 'upgrade';
  readonly provider: string;
  readonly credits: bigint;
  readonly price: bigint;
  readonly startedMs: number;
  /** The card that is charged for it, where one was saved for its provider as it was begun. */
  readonly card: string | null;
  /** Of a plan, that it pays for. */
  readonly period: { readonly plan: string; readonly fromMs: number; readonly toMs: number } | null;
  state: 'open' | 'waits' | 'failed' | 'abandoned' | 'paid';
  payment: string | null;
  /** No other try with its card would do. */
  isForGood: boolean;
  readonly refunds: Record<string, bigint>;
  readonly disputes: Record<string, { readonly amount: bigint; outcome: string | null }>;
}

type Begun = Pick<PlainAttempt, 'kind' | 'provider' | 'credits' | 'price' | 'period'> & { readonly nowMs: number };

const MONTH_MS = 30 * 24 * 3_600_000;

export const isOpen = ({ state }: PlainAttempt): boolean => state === 'open' || state === 'waits';

/** The money that its disputes have. */
export const lostOrOpen = ({ disputes }: PlainAttempt): bigint =>
  Object.values(disputes).reduce((all, { amount, outcome }) => (outcome === 'won' ? all : all + amount), 0n);

/** Of an account, in their order. */
export class PlainAttempts {
  readonly byId: Record<string, PlainAttempt> = {};
  /** By its provider, and what that calls it. */
  card: string | null = null;

  get all(): PlainAttempt[] {
    return Object.values(this.byId);
  }

  /** Each in a line. */
  get told(): Record<string, string> {
    const lines = Object.entries(this.byId).map(([id, { kind, state, price, credits }]) => [
      id,
      `${kind} ${state === 'waits' ? 'action required' : state} ${price} ${credits}`,
    ]);
    return Object.fromEntries(lines);
  }

  find(id: string): PlainAttempt | undefined {
    return this.byId[id];
  }

  drop(id: string): void {
    delete this.byId[id];
  }

  /** Whether the card is asked no more. */
  isSpent(nowMs: number): boolean {
    const noes = this.all.filter(({ state, card }) => state === 'failed' && card !== null && card === this.card);
    return (
      noes.some(({ isForGood }) => isForGood) || noes.filter((one) => one.startedMs > nowMs - MONTH_MS).length > 14
    );
  }

  /** Of one that another was saved in place of. */
  isOfOldCard({ card }: PlainAttempt): boolean {
    return this.card !== null && card !== null && card !== this.card;
  }

  begin(id: string, { nowMs, ...what }: Begun): PlainAttempt {
    const isCharged = what.kind !== 'purchase' && this.card?.startsWith(`${what.provider} `) === true;
    const card = isCharged ? this.card : null;
    const begun = {
      ...what,
      card,
      startedMs: nowMs,
      state: 'open',
      payment: null,
      isForGood: false,
      refunds: {},
      disputes: {},
    } as const;
    const attempt: PlainAttempt = { ...begun };
    this.byId[id] = attempt;
    return attempt;
  }
}

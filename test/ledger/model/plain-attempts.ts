export interface PlainAttempt {
  readonly kind: 'purchase' | 'reload' | 'renewal' | 'upgrade';
  readonly provider: string;
  readonly credits: bigint;
  readonly price: bigint;
  readonly startedMs: number;
  /** The card that is charged for it, where one was saved for its provider as it was begun; or that has said no, where that is told to be another. */
  card: string | null;
  /** It was another. */
  isOthers: boolean;
  /** Of a plan, that it pays for. */
  readonly period: { readonly plan: string; readonly fromMs: number; readonly toMs: number } | null;
  state: 'open' | 'waits' | 'failed' | 'abandoned' | 'paid';
  payment: string | null;
  /** Below zero where nobody has. */
  paidMs: number;
  /** Its card has said no, for good, where no other try with it would do; or an operator, who has ended it. Null also where it may have been another card. */
  no: 'once' | 'for good' | null;
  readonly refunds: Record<string, bigint>;
  readonly disputes: Record<string, { readonly amount: bigint; outcome: string | null }>;
}

type Begun = Pick<PlainAttempt, 'kind' | 'provider' | 'credits' | 'price' | 'period'> & { readonly nowMs: number };

const MONTH_MS = 30 * 24 * 3_600_000;

export const isOpen = ({ state }: PlainAttempt): boolean => state === 'open' || state === 'waits';

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
    if (this.card === null) return false;
    const tries = this.all.filter(({ card }) => card === this.card);
    const noes = tries.filter(({ state }) => state === 'failed');
    const lastPaidMs = Math.max(-1, ...tries.map(({ paidMs }) => paidMs));
    return (
      noes.some(({ no, startedMs }) => no === 'for good' && startedMs >= lastPaidMs) || this.isTired(this.card, nowMs)
    );
  }

  /** Whether it has said no fifteen times in a month. */
  isTired(of: string | null, nowMs: number): boolean {
    const noes = this.all.filter(({ card, state }) => card === of && state === 'failed');
    return of !== null && noes.filter(({ startedMs }) => startedMs > nowMs - MONTH_MS).length > 14;
  }

  /** Of whichever card it was: only where no other was saved is that known. */
  fail(attempt: PlainAttempt, isForGood: boolean): void {
    attempt.state = 'failed';
    if (attempt.card !== null && attempt.card === this.card) attempt.no = isForGood ? 'for good' : 'once';
  }

  /** Of one that another was saved in place of. */
  isOfOldCard({ card }: PlainAttempt): boolean {
    return this.card !== null && card !== null && card !== this.card;
  }

  /** Whether the last eight that anybody has answered, for the same, were noes of others than they were begun with: one more is not tried at once. */
  isOneTooMany(attempt: PlainAttempt): boolean {
    const { kind, period } = attempt;
    const others = this.all.filter(
      (one) => one !== attempt && one.kind === kind && one.period?.fromMs === period?.fromMs,
    );
    const isOthers = (one: PlainAttempt): boolean => one.state === 'failed' && one.isOthers && this.isOfOldCard(one);
    const isMute = ({ state, no }: PlainAttempt): boolean => state === 'abandoned' && no === null;
    let row = 0;
    for (const one of others) if (!isMute(one)) row = isOthers(one) ? row + 1 : 0;
    return row > 7;
  }

  begin(id: string, { nowMs, ...what }: Begun): PlainAttempt {
    const isCharged = what.kind !== 'purchase' && this.card?.startsWith(`${what.provider} `) === true;
    const card = isCharged ? this.card : null;
    const begun = {
      ...what,
      card,
      isOthers: false,
      startedMs: nowMs,
      state: 'open',
      payment: null,
      paidMs: -1,
      no: null,
      refunds: {},
      disputes: {},
    } as const;
    const attempt: PlainAttempt = { ...begun };
    this.byId[id] = attempt;
    return attempt;
  }
}

import type { AccountEvent } from '../../contracts/events.ts';
import { groupedUsd, type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { AccountState } from './account-state.ts';
import { type CreditsTaken, creditsTaken, sayTaken } from './credits-taken.ts';

/** What became of credits by what a provider has told of their payment. */
export type CreditsMoved = ({ readonly type: 'taken' } & CreditsTaken) | CreditsBack;

/** Money that had gone back, or was disputed, is here after all. */
interface CreditsBack {
  readonly type: 'back';
  /** Of the refund or the dispute. */
  readonly id: string;
  readonly cause: 'refund' | 'dispute';
  /** In words, as a sentence. */
  readonly why: string;
  /** 0 where none of them were gone by it alone. */
  readonly restored: MicroUsd;
}

/**
 * Of the events of one command, decided on the account as it was before.
 *
 * @returns null where they tell of no money that went back, is disputed, or is here again
 */
export function creditsMoved(events: readonly AccountEvent[], before: AccountState): CreditsMoved | null {
  const back = events.flatMap(hereAgain)[0];
  if (back !== undefined) {
    const restored = events.reduce((sum, one) => (one.type === 'GrantRestored' ? sum + one.data.amount : sum), 0n);
    return { type: 'back', ...back, restored: microUsd(restored) };
  }
  const taken = creditsTaken(events, before);
  return taken === null ? null : { type: 'taken', ...taken };
}

function hereAgain({ type, data }: AccountEvent): Pick<CreditsBack, 'id' | 'cause' | 'why'>[] {
  if (type === 'RefundWithdrawn') return [{ id: data.refundId, cause: 'refund', why: data.reason }];
  if (type === 'DisputeClosed' && data.outcome === 'won')
    return [{ id: data.disputeId, cause: 'dispute', why: 'it was won' }];
  return [];
}

/** In words, behind its id. */
export function sayMoved(moved: CreditsMoved): string {
  if (moved.type === 'taken') return sayTaken(moved);
  const { why, restored } = moved;
  return restored === 0n
    ? `${why}; no credits are restored, for none were gone by it alone`
    : `${why}; ${groupedUsd(restored)} USD of credits restored`;
}

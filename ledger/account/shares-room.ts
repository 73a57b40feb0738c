import type { GrantId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';

/**
 * How many grants one debit can take from: an event has a bound, and a debit that is longer could never be written. An
 * account that owes nothing is granted no more than fits (`haveRoom`). One that has more goes on: what a debit has no room
 * for is uncovered. It is missing from what can be spent from then on, like all that is uncovered, and the grants that were
 * not reached stay for further requests, as far as they are worth more than it. The next grant fills it, and is never refused
 * meanwhile: an account that owes and can spend nothing would have no way out.
 */
export class SharesRoom {
  #left = LIMITS.debitGrantsBytesMax;

  /** False where there is no room for it; then there is none for any that comes after it either. */
  take(share: GrantShare): boolean {
    this.#left -= bytesOf(share);
    return this.#left >= 0;
  }
}

/** What a debit takes from a grant, or what is given back to it. */
export interface GrantShare {
  readonly grantId: GrantId;
  readonly amount: MicroUsd;
}

export const sumOf = (shares: readonly GrantShare[]): bigint => shares.reduce((sum, { amount }) => sum + amount, 0n);

/** So much of them as there is, from the first. */
export function firstOf(shares: readonly GrantShare[], amount: bigint): GrantShare[] {
  const first: GrantShare[] = [];
  let left = amount;
  for (const { grantId, amount: has } of shares) {
    const part = has < left ? has : left;
    if (part > 0n) first.push({ grantId, amount: microUsd(part) });
    left -= part;
  }
  return first;
}

/** Whether a debit that takes everything from these grants fits one event. */
export function haveRoom(grants: readonly GrantShare[]): boolean {
  const room = new SharesRoom();
  return grants.every((grant) => room.take(grant));
}

/** As it stands in the event, with the comma before the next. */
const bytesOf = ({ grantId, amount }: GrantShare): number =>
  Buffer.byteLength(JSON.stringify({ grantId, amount: amount.toString() })) + 1;

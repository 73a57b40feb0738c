import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { Grant } from './account-state.ts';
import { isExpired, isUsable } from './grants.ts';

/** A hold, or all that is held under a lease: what it may still cost, and between which instants its requests started. */
export interface StartedHold {
  readonly amount: bigint;
  readonly firstStartMs: number;
  readonly lastStartMs: number;
}

/**
 * Of what an account's holds could cost, how much grants that have expired meanwhile will surely pay: a request pays by
 * what was usable when it started. So much of the holds is no claim on what can be spent now, and others may spend it.
 *
 * Surely means whatever is settled first and whatever each request costs. Take the holds that are older than an expiry,
 * and the expired grants that all of them may still burn, down to a place in the burn order. Before one of these holds
 * takes anything behind that place, these grants are empty; what comes before it and can be spent now (`ahead`) is all
 * that they may take instead. Less than the holds cost stays on the same side: then the others find more, not less.
 */
export function paidByExpired(grants: readonly Grant[], holds: Iterable<StartedHold>, nowMs: number): MicroUsd {
  let surely = 0n;
  for (const expiryMs of expiries(grants, nowMs)) {
    const older = olderThan(holds, expiryMs);
    const paid = older === null ? 0n : paidOf(older, expiryMs, grants, nowMs);
    if (paid > surely) surely = paid;
  }
  return microUsd(surely);
}

/** When what grants still hold has expired. Mostly there is none, and a debit costs no more than this look. */
function expiries(grants: readonly Grant[], nowMs: number): ReadonlySet<number> {
  let expiries: Set<number> | null = null;
  for (const { remaining, expiresAtMs } of grants) {
    if (remaining === 0n || expiresAtMs === null || expiresAtMs > nowMs) continue;
    expiries ??= new Set();
    expiries.add(expiresAtMs);
  }
  return expiries ?? NONE;
}

const NONE: ReadonlySet<number> = new Set();

/** Holds of requests that started before an instant: their sum, and when the first of them started. */
function olderThan(holds: Iterable<StartedHold>, beforeMs: number): StartedHold | null {
  let amount = 0n;
  let firstStartMs = beforeMs;
  for (const hold of holds) {
    if (hold.lastStartMs >= beforeMs) continue;
    amount += hold.amount;
    if (hold.firstStartMs < firstStartMs) firstStartMs = hold.firstStartMs;
  }
  return amount === 0n ? null : { amount, firstStartMs, lastStartMs: beforeMs - 1 };
}

function paidOf(older: StartedHold, expiryMs: number, grants: readonly Grant[], nowMs: number): bigint {
  let surely = 0n;
  let ahead = 0n;
  let expired = 0n;
  for (const grant of grants) {
    if (isUsable(grant, nowMs)) ahead += grant.remaining;
    if (older.amount <= ahead) break;
    if (!isExpired(grant, nowMs) || (grant.expiresAtMs ?? 0) < expiryMs || grant.effectiveAtMs > older.firstStartMs)
      continue;
    expired += grant.remaining;
    const left = older.amount - ahead;
    const paid = left < expired ? left : expired;
    if (paid > surely) surely = paid;
  }
  return surely;
}

import { instantMs } from './own-times.ts';

export interface OwnGrant {
  readonly grantId: string;
  /** Of its id as JSON. */
  readonly idBytes: number;
  readonly amount: bigint;
  remaining: bigint;
  /** What was written down as expired and has not come back. */
  expired: bigint;
  /** What was revoked of it and it held, and has not come back. */
  held: bigint;
  /** The end by which that was done; null where it never was. */
  expiredAtMs: number | null;
  readonly priority: number;
  readonly isFree: boolean;
  readonly effectiveAtMs: number;
  /** Exclusive. What comes back may bring a later one. */
  expiresAtMs: number | null;
}

export interface OwnShare {
  readonly grantId: string;
  readonly amount: bigint;
}

/** What one debit can say of the grants that it takes from. */
const SHARES_BYTES_MAX = 192 * 1024;
/** Of a share beside its id and amount, with the comma before the next. */
const SHARE_BYTES = '{"grantId":,"amount":""},'.length;

interface BurnedBy {
  readonly startedAt: string;
  readonly finishedAt: string;
}

/**
 * What a request's cost takes from the grants, which stand in burn order; what none of them holds, and what the debit cannot
 * say, is uncovered. First from those that were usable at its start, then from those that were at its end, then from
 * whatever else came after its start and is there already.
 */
export function burnOwn(
  grants: readonly OwnGrant[],
  amount: bigint,
  { startedAt, finishedAt }: BurnedBy,
): { shares: OwnShare[]; uncovered: bigint } {
  const shares: OwnShare[] = [];
  let [left, room] = [amount, SHARES_BYTES_MAX];
  const takeFrom = (isMeant: (grant: OwnGrant) => boolean): void => {
    for (const grant of grants) {
      if (left === 0n || room < 0) return;
      if (grant.remaining === 0n || !isMeant(grant)) continue;
      const taken = grant.remaining < left ? grant.remaining : left;
      room -= shareBytes(grant, taken);
      if (room < 0) return;
      left -= taken;
      shares.push({ grantId: grant.grantId, amount: taken });
    }
  };
  const fromMs = instantMs(startedAt);
  takeFrom((grant) => isUsableAt(grant, fromMs));
  if (left === 0n) return { shares, uncovered: left };
  const toMs = instantMs(finishedAt);
  takeFrom((grant) => !isUsableAt(grant, fromMs) && isUsableAt(grant, toMs));
  takeFrom((grant) => !isUsableAt(grant, fromMs) && !isUsableAt(grant, toMs) && grant.effectiveAtMs > fromMs);
  return { shares, uncovered: left };
}

/** What an amount takes at an instant of what can be spent then. */
export function burnNow(
  grants: readonly OwnGrant[],
  amount: bigint,
  at: string,
): { shares: OwnShare[]; uncovered: bigint } {
  const usable = grants.filter((grant) => isUsableAt(grant, instantMs(at)));
  return burnOwn(usable, amount, { startedAt: at, finishedAt: at });
}

export const isUsableAt = ({ effectiveAtMs, expiresAtMs }: OwnGrant, atMs: number): boolean =>
  effectiveAtMs <= atMs && (expiresAtMs === null || atMs < expiresAtMs);

/** Whether one debit could take all that is left of them. */
export function fitOneDebit(grants: readonly OwnGrant[]): boolean {
  let room = SHARES_BYTES_MAX;
  for (const grant of grants) if (grant.remaining > 0n) room -= shareBytes(grant, grant.remaining);
  return room >= 0;
}

const shareBytes = ({ idBytes }: OwnGrant, amount: bigint): number => SHARE_BYTES + idBytes + String(amount).length;

/** Keeps them in burn order. */
export function insertGrant(grants: OwnGrant[], grant: OwnGrant): void {
  let [from, to] = [0, grants.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const at = grants[middle];
    if (at !== undefined && burnsBefore(at, grant) < 0) from = middle + 1;
    else to = middle;
  }
  grants.splice(from, 0, grant);
}

/** The order in which they burn: priority, expiry (none last), zero cost basis first, effectiveAt, grantId. */
export const burnsBefore = (a: OwnGrant, b: OwnGrant): number =>
  a.priority - b.priority ||
  (a.expiresAtMs ?? Number.MAX_SAFE_INTEGER) - (b.expiresAtMs ?? Number.MAX_SAFE_INTEGER) ||
  (a.isFree ? 0 : 1) - (b.isFree ? 0 : 1) ||
  a.effectiveAtMs - b.effectiveAtMs ||
  (a.grantId < b.grantId ? -1 : 1);

export interface OwnGrant {
  readonly grantId: string;
  readonly amount: bigint;
  remaining: bigint;
  /** What was written down as expired and has not come back. */
  expired: bigint;
  /** The end by which that was done; null where it never was. */
  expiredAtMs: number | null;
  readonly priority: number;
  readonly isFree: boolean;
  readonly effectiveAtMs: number;
  /** Exclusive. What comes back may bring a later one. */
  expiresAtMs: number | null;
}

interface OwnShare {
  readonly grantId: string;
  readonly amount: string;
}

/** What one debit can say of the grants that it takes from. */
const SHARES_BYTES_MAX = 192 * 1024;

/**
 * What a request's cost takes from the grants; what none of them holds, and what the debit cannot say, is
 * uncovered. First from those that were usable at
 * its start, then from those that were at its end, then from whatever else came after its start and is there already.
 */
export function burnOwn(
  grants: readonly OwnGrant[],
  amount: bigint,
  { startedAt, finishedAt }: { readonly startedAt: string; readonly finishedAt: string },
): { shares: OwnShare[]; uncovered: bigint } {
  const [fromMs, toMs] = [Date.parse(startedAt), Date.parse(finishedAt)];
  const ordered = grants.toSorted(burnsBefore);
  const first = ordered.filter((grant) => isUsableAt(grant, fromMs));
  const others = ordered.filter((grant) => !isUsableAt(grant, fromMs));
  const second = others.filter((grant) => isUsableAt(grant, toMs));
  const third = others.filter((grant) => !isUsableAt(grant, toMs) && grant.effectiveAtMs > fromMs);
  const shares: OwnShare[] = [];
  let left = amount;
  let room = SHARES_BYTES_MAX;
  for (const grant of [...first, ...second, ...third]) {
    if (left === 0n || grant.remaining === 0n) continue;
    const taken = grant.remaining < left ? grant.remaining : left;
    room -= Buffer.byteLength(JSON.stringify({ grantId: grant.grantId, amount: taken.toString() })) + 1;
    if (room < 0) break;
    left -= taken;
    shares.push({ grantId: grant.grantId, amount: taken.toString() });
  }
  return { shares, uncovered: left };
}

export const isUsableAt = ({ effectiveAtMs, expiresAtMs }: OwnGrant, atMs: number): boolean =>
  effectiveAtMs <= atMs && (expiresAtMs === null || atMs < expiresAtMs);

/** Priority, expiry (none last), zero cost basis first, effectiveAt, grantId. */
function burnsBefore(a: OwnGrant, b: OwnGrant): number {
  const expiry = (grant: OwnGrant): number => grant.expiresAtMs ?? Number.MAX_SAFE_INTEGER;
  const keys = (grant: OwnGrant): number[] => [
    grant.priority,
    expiry(grant),
    grant.isFree ? 0 : 1,
    grant.effectiveAtMs,
  ];
  const other = keys(b);
  const differing = keys(a)
    .map((key, index) => key - (other[index] ?? 0))
    .find((difference) => difference !== 0);
  return differing ?? (a.grantId < b.grantId ? -1 : 1);
}

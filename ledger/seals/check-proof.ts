import { type Proof, problemOfProof } from './prove.ts';
import type { TrustedKey } from './seal-chain.ts';
import { isBeforeKey, isSignedBy, type LedgerSealed, publicKeyOf, sealText } from './seal-signature.ts';

export interface ProofVerdict {
  /** What does not hold; then nothing is proved. */
  readonly problems: readonly string[];
  /** What it shows, a line each. */
  readonly proved: readonly string[];
  /** How many of the first events a seal of the proof covers that was kept outside: those behind them it does not vouch for. */
  readonly anchored: number;
  /** Whether all that is shown is among them. */
  readonly isAnchored: boolean;
}

interface Outside {
  readonly keys: readonly TrustedKey[];
  readonly anchors: readonly LedgerSealed[];
}

/** Whether a proof holds, by keys from outside and without the ledger. */
export function checkProof(proof: Proof, { keys, anchors }: Outside): ProofVerdict {
  const { seal, inclusion, consistency } = proof;
  const seals = consistency === null ? [seal] : [seal, consistency.since];
  const hashes = problemOfProof(proof);
  const problems = [...seals.flatMap((one) => problemOfSeal(one, keys) ?? []), ...(hashes === null ? [] : [hashes])];
  if (problems.length > 0) return { problems, proved: [], anchored: 0, isAnchored: false };
  const isKept = (one: LedgerSealed): boolean =>
    anchors.some((anchor) => anchor.signature === one.signature && sealText(anchor) === sealText(one));
  const anchored = Math.max(0, ...seals.filter(isKept).map(({ treeSize }) => treeSize));
  const until = keys.find(({ keyId }) => keyId === seal.keyId)?.validUntil ?? null;
  // It may have signed on until the one that followed it has: a proof does not show whether that has.
  const followed = until === null || seal.sealedAt <= until ? '' : ` (which another has followed at ${until})`;
  const by = `seal ${seal.seal} of ${seal.ledgerId}, of ${seal.sealedAt} by key ${seal.keyId}${followed}, covers`;
  const event = inclusion?.event;
  return {
    problems,
    proved: [
      ...(event === undefined
        ? []
        : [`${by} event ${event.ordinal}: ${event.stream} revision ${event.revision}, ${event.type} ${event.id}`]),
      ...(consistency === null
        ? []
        : [`${by} all that seal ${consistency.since.seal} covers, of ${consistency.since.sealedAt}, in its order`]),
    ],
    anchored,
    isAnchored: (event?.ordinal ?? seal.treeSize - 1) < anchored,
  };
}

function problemOfSeal(seal: LedgerSealed, keys: readonly TrustedKey[]): string | null {
  const key = keys.find(({ keyId }) => keyId === seal.keyId);
  if (key === undefined) return `seal ${seal.seal} is signed by ${seal.keyId}, which is none of the keys`;
  if (isBeforeKey(seal, key.validFrom))
    return `seal ${seal.seal} is of ${seal.sealedAt}, and its key valid from ${key.validFrom}`;
  if (!isSignedBy(publicKeyOf(key.publicKey), sealText(seal), seal.signature))
    return `seal ${seal.seal} has a signature that is not of its key ${seal.keyId}`;
  return null;
}

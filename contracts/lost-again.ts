/**
 * What a dispute takes that was won, as it was written down, and is lost after all, is a revocation of its own: that under the
 * dispute's own id is what it took as it was opened. The second such one of a dispute has a number behind it, and so on.
 */
export const lostAgainId = (disputeId: string): string => `${disputeId}_lost`;

/** The dispute that such an id is made of; null of another. */
export const disputeLostAgain = (revocationId: string): string | null =>
  /^(.+)_lost(?:_\d+)?$/su.exec(revocationId)?.[1] ?? null;

/**
 * What a dispute takes that was won, as it was written down, and is lost after all, is a revocation of its own: that under the
 * dispute's own id is what it took as it was opened. The second such one of a dispute has a number behind it, and so on.
 */
export const lostAgainId = (disputeId: string): string => `${disputeId}_lost`;

/** The dispute that such an id is made of; null of another. */
export const disputeLostAgain = (revocationId: string): string | null =>
  /^(.+)_lost(?:_\d+)?$/su.exec(revocationId)?.[1] ?? null;

/**
 * What its provider tells where the provider's name for it has something else of the account, or had, is another one here, with a word
 * behind that name: also a refund that was withdrawn by hand, or a dispute that was closed as won with another amount. The credits of the
 * first may be there again, and taken under the same id they would not be told apart. Numbered as the above.
 */
export const toldAgainId = (name: string): string => `${name}_again`;

/** What its provider calls the refund, or the dispute, that such an id is made of; null of another. */
export const nameToldAgain = (id: string): string | null => /^(.+)_again(?:_\d+)?$/su.exec(id)?.[1] ?? null;

/** What comes back once a refund is withdrawn, or a dispute won, is restored under such an id; of several each but the first has a number behind it. */
export const withdrawnId = (refundId: string): string => `${refundId}_withdrawn`;
export const wonId = (disputeId: string): string => `${disputeId}_won`;

/** Whether an id is of such a form, of whichever refund or dispute, also of one that there is not yet. */
export const isOfComingBack = (id: string): boolean => /._(?:withdrawn|won)(?:_\d+)?$/su.test(id);

/** Whether an id is that one, or that with a number behind it. */
export const isNumbered = (id: string, first: string): boolean =>
  id === first || (id.startsWith(`${first}_`) && /^\d+$/u.test(id.slice(first.length + 1)));

/** A stored event that cannot be read: never skipped, for what is skipped is not billed. */
export class UnreadableEventError extends Error {
  override readonly name = 'UnreadableEventError';
}

/** A copy cannot go on as it is: what stands in the target is not a beginning of the source. The message is all an operator needs. */
export class CopyError extends Error {
  override readonly name = 'CopyError';
}

/**
 * A file of the data folder does not say what it is there to say, and nothing else does. The message names it, and says
 * what to do: it is all that an operator needs.
 */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
}

/** A file of the data folder does not say what only it can say. The message names it and what to do. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
}

/** A report that cannot be read as one. The message is all an operator needs. */
export class ReportError extends Error {
  override readonly name = 'ReportError';
}

/** The ledger has adopted forms of events that this program does not read. The message is all an operator needs. */
export class UnreadFormsError extends Error {
  override readonly name = 'UnreadFormsError';

  /** @param named each of them, in words */
  constructor(named: readonly string[]) {
    super(
      `the ledger has adopted forms of events that this program does not read: ${named.join(', ')}; start a newer one`,
    );
  }
}

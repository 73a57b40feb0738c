import type { FeedEvent } from '../../contracts/feed-message.ts';
import { isSameLedger, type LedgerIdentity } from '../../contracts/ledger-identity.ts';

/** A message of another ledger, or of another generation of it, than what was read before: what is built would be of two. */
export class OtherLedgerError extends Error {
  override readonly name = 'OtherLedgerError';
  readonly expected: LedgerIdentity;
  readonly found: LedgerIdentity;

  constructor(event: FeedEvent, expected: LedgerIdentity, found: LedgerIdentity) {
    const { stream, revision } = event;
    const why =
      expected.ledgerId === found.ledgerId
        ? `generation ${found.generation} of the ledger, since a loss was accepted, and what was read before is of generation ` +
          `${expected.generation}: what was made of events that are lost is to be made good first`
        : `the ledger ${found.ledgerId}, and what was read before is of ${expected.ledgerId}: another ledger’s relay writes there`;
    super(`${stream} revision ${revision} is of ${why}`);
    this.expected = expected;
    this.found = found;
  }
}

/**
 * The ledger that all messages are of; null where none of them says. Those from before say nothing, and pass.
 * @param before of what was read before; null where that is not known @throws OtherLedgerError
 */
export function oneLedger(events: readonly FeedEvent[], before: LedgerIdentity | null): LedgerIdentity | null {
  let ledger = before;
  for (const event of events) {
    if (event.ledger === null) continue;
    ledger ??= event.ledger;
    if (!isSameLedger(event.ledger, ledger)) throw new OtherLedgerError(event, ledger, event.ledger);
  }
  return ledger;
}

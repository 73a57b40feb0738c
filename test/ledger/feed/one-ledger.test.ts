import { describe, expect, test } from 'vitest';
import { type FeedEvent, readFeedMessage } from '../../../contracts/feed-message.ts';
import { ledgerId } from '../../../contracts/ids.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { OtherLedgerError, oneLedger } from '../../../ledger/feed/one-ledger.ts';
import { planMessage, WRITTEN_OF } from '../../kafka/topic-writer.ts';

const OTHER: LedgerIdentity = { ledgerId: ledgerId(`ledger_${'0189'.repeat(8)}`), generation: 1 };
const event = (at: number, of: LedgerIdentity | null): FeedEvent => readFeedMessage(planMessage('acct_1', at, of));

describe('the ledger of what a consumer reads', () => {
  test('is the first that a message names, and what was kept where none does', () => {
    expect(oneLedger([event(0, null)], null)).toBeNull();
    expect(oneLedger([event(0, null), event(1, OTHER), event(2, null)], null)).toEqual(OTHER);
    expect(oneLedger([event(0, null)], OTHER)).toEqual(OTHER);
    expect(oneLedger([], OTHER)).toEqual(OTHER);
  });

  test('is never two, nor two generations of one', () => {
    const run = (...events: FeedEvent[]): unknown => oneLedger(events, WRITTEN_OF);
    expect(() => run(event(0, WRITTEN_OF), event(1, OTHER))).toThrow(OtherLedgerError);
    expect(() => run(event(1, OTHER))).toThrow(
      `account-acct_1 revision 1 is of the ledger ${OTHER.ledgerId}, and what was read before is of ${WRITTEN_OF.ledgerId}: ` +
        'another ledger’s relay writes there',
    );
    expect(() => run(event(1, { ...WRITTEN_OF, generation: 2 }))).toThrow(
      /^account-acct_1 revision 1 is of generation 2 of the ledger, since a loss was accepted, and what was read before is/,
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { eventId, position, revision, type StreamName } from '../../../contracts/ids.ts';
import { batches } from '../../../ledger/relay/batches.ts';
import { RELAY_LIMITS } from '../../../ledger/relay/limits.ts';
import { isPublished } from '../../../ledger/relay/published.ts';

const event = (at: number, bytes: number): RecordedEvent => ({
  stream: 'account-acct_1' as StreamName,
  revision: revision(at),
  position: position(at),
  id: eventId(String(at)),
  type: 'PlanChanged',
  data: 'x'.repeat(bytes),
  metadata: '',
});

describe('the batches of a relay', () => {
  it('are all events in order, within the bounds, and as few as that allows', () => {
    const sizes = fc.array(fc.oneof(fc.nat(2_000), fc.nat(2 * RELAY_LIMITS.batchBytesMax)), { maxLength: 40 });
    fc.assert(
      fc.property(sizes, (given) => {
        const events = given.map((bytes, at) => event(at, bytes));
        const cut = [...batches(events)];
        const size = (batch: readonly RecordedEvent[]): number =>
          batch.reduce((sum, { data }) => sum + data.length + RELAY_LIMITS.messageOverheadBytes, 0);
        expect(cut.flat()).toEqual(events);
        for (const batch of cut) {
          expect(batch.length).toBeGreaterThan(0);
          if (batch.length > 1) expect(size(batch)).toBeLessThanOrEqual(RELAY_LIMITS.batchBytesMax);
        }
        for (const [at, batch] of cut.entries()) {
          const next = cut[at + 1]?.[0];
          if (next !== undefined) expect(size([...batch, next])).toBeGreaterThan(RELAY_LIMITS.batchBytesMax);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('have a bounded number of events', () => {
    const events = Array.from({ length: 2_500 }, (_, at) => event(at, 0));
    for (const batch of batches(events)) expect(batch.length).toBeLessThanOrEqual(RELAY_LIMITS.batchMessagesMax);
  });

  it.each([
    ['account-acct_1', true],
    ['catalog', true],
    ['relay-ledger', false],
    ['ledger', true],
    ['reconciliation-example', false],
    ['seals', false],
    ['$ce-account', false],
    ['toString', false],
    ['accounts', false],
  ])('are of the ledger’s streams, not the relay’s own: %s', (stream, expected) => {
    expect(isPublished({ stream: stream as StreamName })).toBe(expected);
  });
});

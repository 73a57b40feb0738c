import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { ProposedEvent, RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, commandId, commandOfRequest, position, revision } from '../../../contracts/ids.ts';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';

const OPERATORS = commandId('019a5b3c-1111-7000-8000-00000000000a');

/** Events as they are proposed to a log, a second apart; those of a request by its own command. */
export function proposedLife(events: readonly AccountEvent[], fromMs = Date.UTC(2026, 10, 5, 10)): ProposedEvent[] {
  let ofLast = OPERATORS;
  return events.flatMap((event, at) => {
    if ('requestId' in event.data) ofLast = commandOfRequest(event.data.requestId);
    else if (event.type !== 'SpendThresholdCrossed') ofLast = OPERATORS;
    const recordedAt = new Date(fromMs + at * 1_000).toISOString();
    return encodeEvents([event], { commandId: ofLast, actor: 'operator', recordedAt });
  });
}

/** The same as a log has them in an account's stream. */
export const storedLife = (events: readonly AccountEvent[]): RecordedEvent[] =>
  proposedLife(events).map((proposed, at) => ({
    ...proposed,
    stream: accountStream(ACCOUNT),
    revision: revision(at),
    position: position(at),
  }));

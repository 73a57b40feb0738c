import { EventLogError, type RecordedEvent } from '../../../contracts/event-log.ts';
import type { StreamName } from '../../../contracts/ids.ts';
import type { Connection } from './connection.ts';
import type { WireEvent } from './decode-read-response.ts';
import { readError } from './fault.ts';
import { ReadCall } from './read-call.ts';
import { recordedEventOf } from './recorded-event.ts';
import type { ReadRequest } from './streams-wire.ts';

export interface ReadEventsOptions {
  readonly connectMs: number;
  readonly stallMs: number;
  readonly requiresLeader: boolean;
  /** The stream of an event that is wanted; null for the others, which are not decoded. */
  readonly nameOf: (event: WireEvent) => StreamName | null;
}

/**
 * The events of a read that ends. Leaving the loop cancels the call.
 * @throws EventLogError `unavailable`, also when nothing comes for `stallMs`; `invalid` for an event that is no text
 */
export async function* readEvents(
  connection: Connection,
  request: ReadRequest,
  { connectMs, stallMs, requiresLeader, nameOf }: ReadEventsOptions,
): AsyncGenerator<RecordedEvent, void, undefined> {
  const call = new ReadCall(connection, request, { connectMs, requiresLeader });
  try {
    for (;;) {
      const taken = await call.take(stallMs);
      if (taken === 'ended') return;
      if (taken === 'silence') {
        const fault = new EventLogError('unavailable', `a read of EventStoreDB stalled for ${stallMs} ms (stallMs)`);
        call.cancel(fault);
        throw fault;
      }
      for (const response of taken) {
        // That there is no such stream, and its bounds, come as responses, too: no events.
        const { event } = response;
        const name = event === null ? null : nameOf(event);
        if (event !== null && name !== null) yield recordedEventOf(event, name);
      }
    }
  } catch (error) {
    throw readError(error);
  } finally {
    call.cancel();
  }
}

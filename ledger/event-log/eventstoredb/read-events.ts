import { EventLogError, type RecordedEvent } from '../../../contracts/event-log.ts';
import type { Connection } from './connection.ts';
import { readError } from './fault.ts';
import { ReadCall } from './read-call.ts';
import { recordedEventOf, streamOf } from './recorded-event.ts';
import type { ReadRequest } from './streams-wire.ts';

export interface ReadEventsOptions {
  readonly connectMs: number;
  readonly stallMs: number;
  readonly requiresLeader: boolean;
  /** The streams whose events are wanted; the others' are not decoded. */
  readonly wants: (stream: string) => boolean;
}

/**
 * The events of a read that ends. Leaving the loop cancels the call.
 * @throws EventLogError `unavailable`, also when nothing comes for `stallMs`; `invalid` for an event that is no text
 */
export async function* readEvents(
  connection: Connection,
  request: ReadRequest,
  { connectMs, stallMs, requiresLeader, wants }: ReadEventsOptions,
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
        // `stream_not_found` and the stream's bounds come as responses, too: no events.
        const event = response.getEvent()?.getEvent();
        if (event !== undefined && wants(streamOf(event))) yield recordedEventOf(event);
      }
    }
  } catch (error) {
    throw readError(error);
  } finally {
    call.cancel();
  }
}

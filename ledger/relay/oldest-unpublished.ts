import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import type { Position } from '../../contracts/ids.ts';
import { RELAY_LIMITS } from './limits.ts';
import { isPublished } from './published.ts';

/** Finds the first event behind a position that the feed is to carry, without reading what lies between it twice. */
export class OldestUnpublished {
  readonly #log: EventLog;
  /** Between the position asked for and here nothing is for the feed. */
  #quietThrough: Position | null = null;
  #asked: Position | null = null;

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** Null when there is none among the next events; then the next call looks further. @throws EventLogError */
  async after(acknowledged: Position | null): Promise<RecordedEvent | null> {
    // A topic that is filled anew: what lies before what was asked for is not known to be quiet.
    if (later(this.#asked, acknowledged) !== acknowledged) this.#quietThrough = null;
    this.#asked = acknowledged;
    const after = later(acknowledged, this.#quietThrough);
    for await (const event of this.#log.readAll({ after, limit: RELAY_LIMITS.lookEventsMax })) {
      if (isPublished(event)) return event;
      this.#quietThrough = event.position;
    }
    return null;
  }
}

function later(one: Position | null, other: Position | null): Position | null {
  if (one === null) return other;
  return other === null || one > other ? one : other;
}

import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import type { Position, StreamName } from '../../contracts/ids.ts';
import { VIEW_LIMITS } from '../limits.ts';

/** What the log held at one look that the views did not. */
export interface Missing {
  /** The last of each stream. */
  readonly events: readonly RecordedEvent[];
  /** Whether there may be more than were looked at. */
  readonly isCut: boolean;
  /** The log was compared up to here. */
  readonly end: Position | null;
}

/**
 * Whether views that are fed from a topic hold what the log holds: a relay that stands still, or a topic that has lost
 * messages, leaves views behind that have read all of the topic. By stream and revision, as the views count themselves.
 */
export class TopicLag {
  readonly #log: EventLog;
  readonly #isFolded: (event: RecordedEvent) => boolean;

  constructor(log: EventLog, isFolded: (event: RecordedEvent) => boolean) {
    this.#log = log;
    this.#isFolded = isFolded;
  }

  /** Compares views with the log from a position on, to its end or past the first lack. @throws EventLogError */
  async look(after: Position | null): Promise<Missing> {
    for (let end = after; ; ) {
      const page = await this.#lookAtPage(end);
      if (page.events.length > 0 || !page.isCut) return page;
      end = page.end;
    }
  }

  /** What of it the views still lack. */
  stillMissing({ events }: Missing): boolean {
    return events.some((event) => !this.#isFolded(event));
  }

  async #lookAtPage(after: Position | null): Promise<Missing> {
    const missing = new Map<StreamName, RecordedEvent>();
    let end = after;
    let seen = 0;
    for await (const event of this.#log.readAll({ after, limit: VIEW_LIMITS.lagPageEvents, placesOnly: true })) {
      if (!this.#isFolded(event)) missing.set(event.stream, event);
      end = event.position;
      seen++;
    }
    return { events: [...missing.values()], isCut: seen === VIEW_LIMITS.lagPageEvents, end };
  }
}

import { decodeMetadata, type EventMetadata } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { groupedCount } from '../../contracts/money.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';

/** A place in a stream: a revision, or the instant at which an event was written down. */
export type StreamPlace =
  | { readonly type: 'revision'; readonly revision: number }
  | { readonly type: 'instant'; readonly atMs: number };

/** When an event was written down, as it says itself (RFC 3339); null where that cannot be read. */
export const recordedAtOf = (recorded: RecordedEvent): string | null => metadataOf(recorded)?.recordedAt ?? null;

/** Null where they cannot be read. */
export function metadataOf(recorded: RecordedEvent): EventMetadata | null {
  try {
    return decodeMetadata(recorded);
  } catch (error) {
    if (error instanceof UnreadableEventError) return null;
    throw error;
  }
}

/**
 * Where a place divides a stream. A stream is in the order of its revisions, and what an account was can only be the sum of
 * its first events: so an instant divides it before the first event that was written down from then on. Where clocks have
 * disagreed others behind that one say an earlier time, and nobody but the reader knows which clock was right.
 */
export class Division {
  readonly #place: StreamPlace;
  #reachedWith: Stamp | null = null;
  #earlier = 0;
  #lastEarlier = 0;

  constructor(place: StreamPlace) {
    this.#place = place;
  }

  /** Takes the stream's events in order. Whether the place is reached with this one, or was before. */
  take({ revision }: RecordedEvent, recordedAt: string | null): boolean {
    const isBehind = isReached(this.#place, revision, recordedAt);
    if (this.#reachedWith !== null) {
      if (!isBehind && recordedAt !== null) {
        this.#earlier++;
        this.#lastEarlier = revision;
      }
      return true;
    }
    if (isBehind) this.#reachedWith = { revision, recordedAt: recordedAt ?? '' };
    return isBehind;
  }

  /** No further event can say anything else about it. */
  get isSettled(): boolean {
    return this.#reachedWith !== null && this.#place.type === 'revision';
  }

  /** Null where all events are on the side of their time. */
  get disorder(): Disorder | null {
    if (this.#reachedWith === null || this.#earlier === 0) return null;
    return { ...this.#reachedWith, earlier: this.#earlier, lastEarlier: this.#lastEarlier };
  }
}

interface Stamp {
  readonly revision: number;
  readonly recordedAt: string;
}

/** The event with which an instant is reached, though some behind it say an earlier one. */
export interface Disorder extends Stamp {
  readonly earlier: number;
  /** The revision of the last of them. */
  readonly lastEarlier: number;
}

export const describeDisorder = ({ revision, recordedAt, earlier, lastEarlier }: Disorder): string =>
  `revision ${revision} says ${recordedAt}, and the stream is divided there; ${groupedCount(earlier)} behind it, up to ` +
  `revision ${lastEarlier}, ${earlier === 1 ? 'says' : 'say'} an earlier time: clocks have disagreed, and a revision instead of the time says what is meant`;

/** An event without a time stands where the one before it does. */
const isReached = (place: StreamPlace, revision: number, recordedAt: string | null): boolean =>
  place.type === 'revision' ? revision >= place.revision : recordedAt !== null && Date.parse(recordedAt) >= place.atMs;

/** The place right behind another: of a revision the next, of an instant the next millisecond. */
export const behind = (place: StreamPlace): StreamPlace =>
  place.type === 'revision' ? { ...place, revision: place.revision + 1 } : { ...place, atMs: place.atMs + 1 };

/** What is amiss where another revision follows than the next; null where nothing is. */
export const gapBefore = (due: number, { revision }: RecordedEvent): string | null =>
  revision === due ? null : `revision ${due} should follow, and ${revision} does: events are missing, or stand twice`;

import assert from 'node:assert/strict';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { position, revision } from '../../../contracts/ids.ts';
import { charsOf } from '../append-bounds.ts';
import { SQLITE_LIMITS } from './limits.ts';
import type { CommittedAppend } from './outcomes.ts';

/**
 * The log's tail as this process wrote it, without gaps, so that subscribers are fed from memory. What another process
 * wrote makes a gap: the tail begins anew after it, and whoever needs what lies before reads the file.
 *
 *   file    … 41 42 43 44 45 46 47 48      43 and 44 are another process's
 *   recent              45 46 47 48        a subscriber at 44 or later goes on here; one at 42 reads the file first
 */
export class RecentEvents {
  #events: RecordedEvent[] = [];
  /** Index of the first event that still counts. */
  #start = 0;
  #chars = 0;
  /** Position of the last event in #events. */
  #last = 0;
  /** Position of the last event that is known to be in the log, whoever wrote it. */
  #head = 0;

  /** What one commit of this process wrote, in log order. */
  add(appends: readonly CommittedAppend[]): void {
    for (const append of appends) this.#addOne(append);
    this.#head = Math.max(this.#head, this.#last);
    while (
      this.#events.length - this.#start > SQLITE_LIMITS.recentEventsMax ||
      this.#chars > SQLITE_LIMITS.recentCharsMax
    )
      this.#dropFirst();
    this.#compact();
  }

  /** The log was seen to end here. */
  noteHead(at: number): void {
    this.#head = Math.max(this.#head, at);
  }

  /** What follows a position; empty when nothing is known to; null when it must be read from the file. */
  after(at: number): readonly RecordedEvent[] | null {
    if (at >= this.#head) return [];
    const first = this.#last - (this.#events.length - this.#start) + 1;
    if (at + 1 < first || at >= this.#last) return null;
    const index = this.#start + at + 1 - first;
    return this.#events.slice(index, index + SQLITE_LIMITS.pageEvents);
  }

  /** Nobody needs what lies at or before a position. */
  dropUpTo(at: number): void {
    const kept = Math.max(0, this.#last - at);
    while (this.#events.length - this.#start > kept) this.#dropFirst();
    this.#compact();
  }

  #addOne({ stream, events, lastRevision, lastPosition }: CommittedAppend): void {
    const before = events.length - 1;
    if (lastPosition - before !== this.#last + 1) this.#clear();
    for (const [index, event] of events.entries()) {
      const { id, type, data, metadata } = event;
      const at = position(lastPosition - before + index);
      this.#events.push({
        id,
        type,
        data,
        metadata,
        stream,
        revision: revision(lastRevision - before + index),
        position: at,
      });
      this.#chars += charsOf(event);
    }
    this.#last = lastPosition;
  }

  #dropFirst(): void {
    const event = this.#events[this.#start++];
    assert(event !== undefined, 'there is an event to drop');
    this.#chars -= charsOf(event);
  }

  /** Lets go of what was dropped; seldom enough that an event is moved once at most. */
  #compact(): void {
    if (this.#start === this.#events.length) this.#clear();
    else if (this.#start > this.#events.length / 2) {
      this.#events = this.#events.slice(this.#start);
      this.#start = 0;
    }
  }

  #clear(): void {
    this.#events = [];
    this.#start = 0;
    this.#chars = 0;
  }
}

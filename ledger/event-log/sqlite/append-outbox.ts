import type { AppendResult, EventLogError, ProposedEvent } from '../../../contracts/event-log.ts';
import type { StreamName } from '../../../contracts/ids.ts';
import { SQLITE_LIMITS } from './limits.ts';
import type { AppendGroup } from './messages.ts';

export interface WaitingAppend {
  readonly stream: StreamName;
  readonly expected: number;
  readonly events: readonly ProposedEvent[];
  readonly chars: number;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: EventLogError) => void;
}

/** Appends that are not yet on their way to the writer, in their order. */
export class AppendOutbox {
  #appends: WaitingAppend[] = [];
  #events = 0;
  #chars = 0;

  get isEmpty(): boolean {
    return this.#appends.length === 0;
  }

  /** Whether there is more than one transaction takes. */
  get isFull(): boolean {
    return this.#events >= SQLITE_LIMITS.groupEventsMax || this.#chars >= SQLITE_LIMITS.groupCharsMax;
  }

  push(append: WaitingAppend): void {
    this.#appends.push(append);
    this.#count(append, 1);
  }

  /** The oldest appends that fit in one transaction, and their message to the writer. */
  takeGroup(): { appends: WaitingAppend[]; message: AppendGroup } {
    const message: (string | number)[] = [];
    let taken = 0;
    let events = 0;
    let chars = 0;
    for (const append of this.#appends) {
      events += append.events.length;
      chars += append.chars;
      if (taken > 0 && (events > SQLITE_LIMITS.groupEventsMax || chars > SQLITE_LIMITS.groupCharsMax)) break;
      taken++;
      message.push(append.expected, append.events.length, append.stream);
      for (const { id, type, data, metadata } of append.events) message.push(id, type, data, metadata);
    }
    const appends = taken === this.#appends.length ? this.takeAll() : this.#appends.splice(0, taken);
    if (this.#appends.length > 0) for (const append of appends) this.#count(append, -1);
    return { appends, message };
  }

  takeAll(): WaitingAppend[] {
    const appends = this.#appends;
    this.#appends = [];
    this.#events = 0;
    this.#chars = 0;
    return appends;
  }

  #count(append: WaitingAppend, sign: 1 | -1): void {
    this.#events += sign * append.events.length;
    this.#chars += sign * append.chars;
  }
}

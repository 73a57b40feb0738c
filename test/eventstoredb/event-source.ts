import type { StoredEvent } from './stored-event.ts';
import type { StoredLog } from './stored-log.ts';
import type { StoredStream } from './stored-stream.ts';

/** Events in the order of a read, one at a time. */
export interface EventSource {
  /** The next event; null where there is none now. A source that looks forwards may have one later. */
  next(): StoredEvent | null;
  /** How many events lie ahead, for a source that looks forwards. */
  ahead(): number;
}

/** All events from an index of the log on. */
export class AllForwards implements EventSource {
  readonly #log: StoredLog;
  #index: number;

  constructor(log: StoredLog, index: number) {
    this.#log = log;
    this.#index = index;
  }

  next(): StoredEvent | null {
    const event = this.#log.events[this.#index];
    if (event === undefined) return null;
    this.#index += 1;
    return event;
  }

  ahead(): number {
    return this.#log.events.length - this.#index;
  }
}

export class AllBackwards implements EventSource {
  readonly #log: StoredLog;
  #index: number;

  /** Begins with the event at the index. */
  constructor(log: StoredLog, index: number) {
    this.#log = log;
    this.#index = index;
  }

  next(): StoredEvent | null {
    const event = this.#log.events[this.#index];
    this.#index -= 1;
    return event ?? null;
  }

  ahead(): number {
    return 0;
  }
}

/** The events of a stream that its metadata does not hide; the stream may come to be while a subscription waits. */
export class StreamForwards implements EventSource {
  readonly #log: StoredLog;
  readonly #name: string;
  #revision: number;

  constructor(log: StoredLog, name: string, revision: number) {
    this.#log = log;
    this.#name = name;
    this.#revision = revision;
  }

  next(): StoredEvent | null {
    const stream = this.#log.stream(this.#name);
    if (stream === undefined) return null;
    // $tb may have moved ahead of the reader. Never back: a soft deletion would else hide what comes after it.
    if (!stream.metadata.deletedSoftly) this.#revision = Math.max(this.#revision, stream.firstRevision);
    for (;;) {
      const event = stream.events[this.#revision];
      if (event === undefined) return null;
      this.#revision += 1;
      if (!stream.isGone(event, this.#log.now())) return event;
    }
  }

  ahead(): number {
    return (this.#log.stream(this.#name)?.events.length ?? 0) - this.#revision;
  }
}

export class StreamBackwards implements EventSource {
  readonly #log: StoredLog;
  readonly #stream: StoredStream;
  #revision: number;

  constructor(log: StoredLog, stream: StoredStream, revision: number) {
    this.#log = log;
    this.#stream = stream;
    this.#revision = Math.min(revision, stream.lastRevision);
  }

  next(): StoredEvent | null {
    while (this.#revision >= this.#stream.firstRevision) {
      const event = this.#stream.events[this.#revision];
      this.#revision -= 1;
      if (event !== undefined && !this.#stream.isGone(event, this.#log.now())) return event;
    }
    return null;
  }

  ahead(): number {
    return 0;
  }
}

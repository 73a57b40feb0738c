import type { EventLog, RecordedEvent, Subscription } from '../../../../contracts/event-log.ts';
import type { Position, StreamName } from '../../../../contracts/ids.ts';

/** Collects what a subscription hands over, and can be asked to wait for it. */
export class Subscriber {
  readonly batches: (readonly RecordedEvent[])[] = [];
  readonly all: RecordedEvent[] = [];
  readonly dropped: Error[] = [];
  readonly stopped: Error[] = [];
  caughtUp = 0;
  underWayMax = 0;
  readonly #streams: ReadonlySet<StreamName>;
  readonly #subscription: Subscription;
  readonly #waiting = new Set<() => void>();
  #underWay = 0;

  /**
   * @param streams of this test; others' events are looked at for their order only
   * @param onEvents called with what is handed over, before it is collected
   */
  constructor(
    log: EventLog,
    after: Position | null,
    streams: readonly StreamName[],
    onEvents: (events: readonly RecordedEvent[]) => void | Promise<void> = () => undefined,
  ) {
    this.#streams = new Set(streams);
    this.#subscription = log.subscribeAll({
      after,
      onEvents: async (events) => {
        this.underWayMax = Math.max(this.underWayMax, ++this.#underWay);
        await onEvents(events);
        this.#underWay--;
        this.batches.push(events);
        for (const event of events) this.all.push(event);
        this.#changed();
      },
      onCaughtUp: () => {
        this.caughtUp++;
        this.#changed();
      },
      onDropped: (error) => {
        this.dropped.push(error);
        this.#changed();
      },
      onStopped: (error) => {
        this.stopped.push(error);
        this.#changed();
      },
    });
  }

  /** The events of this test's streams. */
  get own(): RecordedEvent[] {
    return this.all.filter(({ stream }) => this.#streams.has(stream));
  }

  get last(): Position | null {
    return this.all.at(-1)?.position ?? null;
  }

  /** Resolves when the condition holds after something was handed over; the test's own time is the bound. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!condition()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  untilAt(position: Position): Promise<void> {
    return this.until(() => (this.last ?? -1) >= position);
  }

  close(): Promise<void> {
    return this.#subscription.close();
  }

  #changed(): void {
    for (const look of [...this.#waiting]) look();
  }
}

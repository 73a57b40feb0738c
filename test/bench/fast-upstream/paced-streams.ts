import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

interface PacedStream {
  readonly socket: Socket;
  next: number;
}

interface Pace {
  readonly everyMs: number;
  readonly events: number;
  /** What is written for an event. */
  writeOf(index: number): Buffer | undefined;
}

/**
 * Streams that write an event every 10 ms each, say. They are spread over the milliseconds of that interval, for real streams
 * do not beat in step:
 *
 *   ms 0 ─ slot 0 ─▶ ms 1 ─ slot 1 ─▶ … ms 9 ─ slot 9 ─▶ ms 10 ─ slot 0 ─▶
 */
export class PacedStreams {
  readonly #pace: Pace;
  readonly #slots: Set<PacedStream>[];
  #added = 0;
  #running = 0;
  #doneMs = 0;

  constructor(pace: Pace) {
    this.#pace = pace;
    this.#slots = Array.from({ length: pace.everyMs }, () => new Set());
  }

  add(socket: Socket): void {
    const slot = this.#slots[this.#added++ % this.#pace.everyMs];
    const stream = { socket, next: 0 };
    slot?.add(stream);
    socket.once('close', () => {
      if (slot?.delete(stream) === true) this.#running--;
    });
    if (this.#running++ > 0) return;
    this.#doneMs = Math.floor(performance.now());
    this.#schedule();
  }

  #schedule(): void {
    if (this.#running > 0) setTimeout(() => this.#catchUp(), 1);
  }

  /** A timer is late now and then; the milliseconds that it missed are made up for, so that the rate holds. */
  #catchUp(): void {
    const nowMs = Math.floor(performance.now());
    while (this.#doneMs < nowMs) {
      this.#doneMs++;
      const slot = this.#slots[this.#doneMs % this.#pace.everyMs];
      for (const stream of slot ?? []) {
        const bytes = this.#pace.writeOf(stream.next++);
        if (bytes !== undefined) stream.socket.write(bytes);
        if (stream.next < this.#pace.events) continue;
        slot?.delete(stream);
        this.#running--;
      }
    }
    this.#schedule();
  }
}

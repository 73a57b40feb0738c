import type { AnswerMeter } from './answer-meter.ts';
import { noteMalformed, type SeenUsage } from './seen-usage.ts';
import type { StreamMeter } from './stream-meter.ts';
import type { UpstreamErrorEvent } from './stream-reading.ts';

/**
 * Keeps a fault of a meter from the answer that it looks at (metering only looks): what it throws is told and
 * goes no further, and it looks at nothing more. The usage then is what it had read, as usage that cannot be read.
 */
export class GuardedMeter {
  readonly #meter: StreamMeter | AnswerMeter;
  readonly #onFault: (error: unknown) => void;
  #isFaulty = false;
  /** Whether the answer was complete before the fault; what a meter says after it means nothing. */
  #wasComplete = false;

  constructor(meter: StreamMeter | AnswerMeter, onFault: (error: unknown) => void) {
    this.#meter = meter;
    this.#onFault = onFault;
  }

  get usage(): SeenUsage {
    return this.#meter.usage;
  }

  /** The meter has thrown: whether the answer is complete only its upstream can tell, by ending it. */
  get isFaulty(): boolean {
    return this.#isFaulty;
  }

  get complete(): boolean {
    return this.#isFaulty ? this.#wasComplete : this.#meter.complete;
  }

  get isFinal(): boolean {
    return !this.#isFaulty && this.#meter.isFinal;
  }

  /** Null for a JSON answer. */
  get errorEvent(): UpstreamErrorEvent | null {
    return this.#meter.kind === 'stream' ? this.#meter.errorEvent : null;
  }

  get messageId(): string | null {
    return this.#meter.messageId;
  }

  /** Whether the bytes so far end between two events; false where that is not known. */
  get atBoundary(): boolean {
    return this.#meter.kind === 'answer' || (!this.#isFaulty && this.#meter.atBoundary);
  }

  push(chunk: Buffer): void {
    this.#guard(() => this.#meter.push(chunk));
  }

  end(): void {
    this.#guard(() => this.#meter.end());
  }

  #guard(look: () => void): void {
    if (this.#isFaulty) return;
    const wasComplete = this.#meter.complete;
    try {
      look();
    } catch (error) {
      this.#isFaulty = true;
      this.#wasComplete = wasComplete;
      noteMalformed(this.usage, 'meter');
      this.#onFault(error);
    }
  }
}

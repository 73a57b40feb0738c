import type { RequestId } from '../contracts/ids.ts';
import { PassingMap } from '../contracts/passing-map.ts';

/** A request that can be cut when the gateway stops. */
interface Cuttable {
  cut(): void;
}

/** How many bytes of a request's body have come; null once it is whole. */
type BytesCome = () => number | null;

/**
 * Requests that are being forwarded: their number has a bound, and a shutdown waits for them before it cuts them. Before them
 * those whose body comes or is being parsed, and which have no answer yet: a shutdown waits until they have one, as long as
 * their bodies come.
 */
export class InFlight {
  readonly #requests = new PassingMap<RequestId, Cuttable>();
  readonly #unanswered = new PassingMap<RequestId, BytesCome>();
  readonly #answeredWaiters: (() => void)[] = [];
  readonly #emptyWaiters: (() => void)[] = [];
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#requests.size;
  }

  get isFull(): boolean {
    return this.#requests.size >= this.#max;
  }

  add(requestId: RequestId, request: Cuttable): void {
    this.#requests.set(requestId, request);
  }

  remove(requestId: RequestId): void {
    this.#requests.delete(requestId);
    if (this.#requests.size === 0) for (const resolve of this.#emptyWaiters.splice(0)) resolve();
  }

  /** Its caller is known, and its body is wanted. */
  accept(requestId: RequestId, bytesCome: BytesCome): void {
    this.#unanswered.set(requestId, bytesCome);
  }

  /** It has been answered, or is forwarded from here on, or its client has left. */
  answered(requestId: RequestId): void {
    this.#unanswered.delete(requestId);
    if (this.#unanswered.size === 0) for (const resolve of this.#answeredWaiters.splice(0)) resolve();
  }

  /** When each accepted one is answered or forwarded, or its body has stood still for `stillMs`. */
  whenAnswered(stillMs: number): Promise<void> {
    if (this.#unanswered.size === 0) return Promise.resolve();
    const cameByThen = new Map<RequestId, number | null>();
    const looks = setInterval(() => {
      for (const requestId of this.#unanswered.keys()) {
        const bytes = this.#unanswered.get(requestId)?.() ?? null;
        if (bytes !== null && bytes === cameByThen.get(requestId)) this.answered(requestId);
        else cameByThen.set(requestId, bytes);
      }
    }, stillMs);
    return new Promise((resolve) =>
      this.#answeredWaiters.push(() => {
        clearInterval(looks);
        resolve();
      }),
    );
  }

  /** Resolves when none is left. */
  whenEmpty(): Promise<void> {
    if (this.#requests.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptyWaiters.push(resolve));
  }

  cutAll(): void {
    for (const request of [...this.#requests]) request.cut();
  }
}

/** A request that can be cut when the gateway stops. */
export interface Cuttable {
  cut(): void;
}

/**
 * Requests that are being relayed: their number has a bound, and a shutdown waits for them before it cuts them. Before them
 * those whose body comes or is being parsed, and which have no answer yet: a shutdown waits until they have one.
 */
export class InFlight {
  readonly #requests = new Set<Cuttable>();
  /** By what answers them. */
  readonly #unanswered = new Set<object>();
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

  add(request: Cuttable): void {
    this.#requests.add(request);
  }

  remove(request: Cuttable): void {
    this.#requests.delete(request);
    if (this.#requests.size === 0) for (const resolve of this.#emptyWaiters.splice(0)) resolve();
  }

  /** Its caller is known, and its body is wanted. */
  accept(response: object): void {
    this.#unanswered.add(response);
  }

  /** It has been answered, or is relayed from here on, or its client has left. */
  answered(response: object): void {
    this.#unanswered.delete(response);
    if (this.#unanswered.size === 0) for (const resolve of this.#answeredWaiters.splice(0)) resolve();
  }

  /** Resolves when each that was accepted has been answered or is relayed. */
  whenAnswered(): Promise<void> {
    if (this.#unanswered.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#answeredWaiters.push(resolve));
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

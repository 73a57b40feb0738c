/** A request that can be cut when the gateway stops. */
export interface Cuttable {
  cut(): void;
}

/** Requests that are being relayed: their number has a bound, and a shutdown waits for them before it cuts them. */
export class InFlight {
  readonly #requests = new Set<Cuttable>();
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

  /** Resolves when none is left. */
  whenEmpty(): Promise<void> {
    if (this.#requests.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptyWaiters.push(resolve));
  }

  cutAll(): void {
    for (const request of [...this.#requests]) request.cut();
  }
}

interface Waiter {
  readonly isFolded: () => boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Those who wait until something is in the views. Each of them has a request or a command behind it. */
export class FoldWaiters {
  readonly #waiters = new Set<Waiter>();
  #ended: Error | null = null;

  /** Resolves when it is so, looked at after each `wake`. @throws Error when that can no more come about. */
  when(isFolded: () => boolean): Promise<void> {
    if (isFolded()) return Promise.resolve();
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => this.#waiters.add({ isFolded, resolve, reject }));
  }

  wake(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.isFolded()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  /** Nothing is folded any more. */
  end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiters) reject(error);
    this.#waiters.clear();
  }
}

/** What waits, by whose it is: shares take turns, whatever each has waiting, so that nothing of one stands before all of another's. */
export class ShareTurns<T> {
  /** Each share's in its order; the share whose turn it is stands first. */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(share: string): number {
    return this.#waiting.get(share)?.length ?? 0;
  }

  add(share: string, item: T): void {
    const own = this.#waiting.get(share);
    if (own === undefined) this.#waiting.set(share, [item]);
    else own.push(item);
    this.#size++;
  }

  /** The first of the share whose turn it is, which then stands last; null where nothing waits. */
  take(): T | null {
    for (const [share, own] of this.#waiting) {
      this.#waiting.delete(share);
      const first = own.shift();
      if (own.length > 0) this.#waiting.set(share, own);
      if (first === undefined) continue;
      this.#size--;
      return first;
    }
    return null;
  }
}

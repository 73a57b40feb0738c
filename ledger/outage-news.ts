/** More reasons than an outage has; where its words differ each time, it is told no further. */
const REASONS_MAX = 8;

/**
 * What of an outage is news to whoever reads the log: that it has begun, and each further reason. What merely says again that
 * it goes on is not, however many calls meet it.
 */
export class OutageNews {
  readonly #told = new Set<string>();

  /** Whether it was not told in this outage, which it has been from here on. Addresses, times and counts make no other reason. */
  isNews(reason: string): boolean {
    const kind = reason.replaceAll(/\d+/g, '#');
    if (this.#told.has(kind) || this.#told.size >= REASONS_MAX) return false;
    this.#told.add(kind);
    return true;
  }

  /** It is over: the next one is told anew. Whether there was one. */
  over(): boolean {
    const wasTold = this.#told.size > 0;
    this.#told.clear();
    return wasTold;
  }
}

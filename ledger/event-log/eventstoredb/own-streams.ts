import { LEDGER_CATEGORIES, type LedgerCategory, type StreamName } from '../../../contracts/ids.ts';

/**
 * The ledger's streams on a server that others use, too: each is written there as the prefix and its name, and nobody
 * else in the program knows of the prefix. What has another prefix, or is of another category, is somebody else's.
 */
export class OwnStreams {
  readonly #prefix: string;
  readonly #categories: readonly string[];

  /** @param categories names up to the first hyphen */
  constructor(prefix = '', categories: readonly string[] = LEDGER_CATEGORIES) {
    this.#prefix = prefix;
    this.#categories = categories;
  }

  /** What the server is asked for. Its prefixes let a few more through, which `nameOf` leaves out. */
  get filters(): readonly string[] {
    return this.#categories.map((category) => this.#prefix + category);
  }

  /** The same for one category: of the streams that it lets through all are the ledger's. */
  filterOf(category: LedgerCategory): readonly string[] {
    return [`${this.#prefix}${category}-`];
  }

  /** The stream's name on the server. */
  onServer(stream: StreamName): string {
    return this.#prefix + stream;
  }

  /** The name of a stream of the ledger; null for one that is none. */
  nameOf(onServer: string): StreamName | null {
    if (!onServer.startsWith(this.#prefix)) return null;
    const name = onServer.slice(this.#prefix.length);
    const hyphen = name.indexOf('-');
    return this.#categories.includes(hyphen === -1 ? name : name.slice(0, hyphen)) ? (name as StreamName) : null;
  }
}

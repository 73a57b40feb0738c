/** The server's cache is 8 MiB at about 100 bytes an entry. */
const ENTRIES_MAX = 80_000;

interface Place {
  readonly stream: string;
  readonly revision: number;
}

/**
 * The memory of recent events in which the server looks for a retry that names no revision. It belongs to the process:
 * a restart empties it, and such a retry is then written a second time.
 */
export class RecentEvents {
  readonly #entriesMax: number;
  // Two halves, of which the older is dropped whole: the oldest key of a Map that is deleted from costs O(n) to find.
  #younger = new Map<string, Place>();
  #older = new Map<string, Place>();

  constructor(entriesMax: number = ENTRIES_MAX) {
    this.#entriesMax = entriesMax;
  }

  add(stream: string, id: string, revision: number): void {
    this.#younger.set(id, { stream, revision });
    if (this.#younger.size < this.#entriesMax / 2) return;
    this.#older = this.#younger;
    this.#younger = new Map();
  }

  revisionOf(stream: string, id: string): number | null {
    const found = this.#younger.get(id) ?? this.#older.get(id);
    return found !== undefined && found.stream === stream ? found.revision : null;
  }

  clear(): void {
    this.#younger.clear();
    this.#older.clear();
  }
}

import { shortageOf } from '../../contracts/shortage.ts';
import type { Segment } from './segment.ts';
import { retireSegment } from './segment-folder.ts';

/**
 * Takes segments out of the folder, one after the other in the order given, outside the event loop: removing a file of
 * 16 MiB takes the kernel about 6 ms. Bounded by the segments that the journal can have.
 */
export class RetiredSegments {
  readonly #directory: string;
  readonly #onFailure: (cause: unknown) => void;
  readonly #waiting: Segment[] = [];
  #work: Promise<void> | null = null;

  constructor(directory: string, onFailure: (cause: unknown) => void) {
    this.#directory = directory;
    this.#onFailure = onFailure;
  }

  add(segment: Segment): void {
    this.#waiting.push(segment);
    this.#work ??= this.#retireAll();
  }

  /** Resolves when every segment that was added is gone, or one could not be removed. */
  async close(): Promise<void> {
    await this.#work;
  }

  async #retireAll(): Promise<void> {
    try {
      for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
        await retireSegment(this.#directory, next.number, next.isDamaged);
        this.#waiting.shift();
      }
    } catch (error) {
      // Oldest first, or not at all. Some file systems need room to remove a file: the next that may go brings another try.
      if (shortageOf(error) === null) {
        this.#waiting.length = 0;
        this.#onFailure(error);
      }
    }
    this.#work = null;
  }
}

import type { LeafPage, LeavesFrom, RecordedEvent } from '../../contracts/event-log.ts';
import { type Position, SEALS_STREAM } from '../../contracts/ids.ts';
import type { LeafHasher } from './leaf.ts';
import { Subtrees } from './merkle.ts';

/** What a log's `readLeaves` answers with, of events that it reads one behind another; none of them is kept. */
export class LeafPageOf {
  readonly #hasher: LeafHasher;
  readonly #ordinal: number;
  readonly #inWhole: Subtrees;
  readonly #inRange: Subtrees;
  #leaves = '';
  #count = 0;
  #firstPosition: Position | null = null;
  #seal: RecordedEvent | null = null;

  constructor({ ordinal, rangeFirst }: Pick<LeavesFrom, 'ordinal' | 'rangeFirst'>, hasher: LeafHasher) {
    this.#hasher = hasher;
    this.#ordinal = ordinal;
    this.#inWhole = new Subtrees(ordinal);
    this.#inRange = new Subtrees(ordinal - rangeFirst);
  }

  /** False: the page ends here; also before an event that does not stand right behind the one before it. */
  add(event: RecordedEvent): boolean {
    this.#firstPosition ??= event.position;
    if (event.position !== this.#firstPosition + this.#count) return false;
    if (event.stream === SEALS_STREAM) {
      this.#seal = event;
      return false;
    }
    const leaf = this.#hasher.hash(event, this.#ordinal + this.#count);
    this.#leaves += leaf;
    this.#count += 1;
    this.#inWhole.append(leaf);
    this.#inRange.append(leaf);
    return true;
  }

  page(isEnd: boolean): LeafPage {
    const { trees: inWhole } = this.#inWhole;
    const { trees: inRange } = this.#inRange;
    return { leaves: this.#leaves, firstPosition: this.#firstPosition, inWhole, inRange, seal: this.#seal, isEnd };
  }
}

import type { LeafPage, LeavesFrom, RecordedEvent } from '../../contracts/event-log.ts';
import { type Position, SEALS_STREAM } from '../../contracts/ids.ts';
import type { LeafHasher } from './leaf.ts';
import { type Digest, Subtrees } from './merkle.ts';

type PagePlace = Pick<LeavesFrom, 'ordinal' | 'rangeFirst'>;

/** What a log's `readLeaves` answers with, of events that it reads one behind another; none of them is kept. */
export class LeafPageOf {
  readonly #place: PagePlace;
  /** In the whole tree and in the range's alike: most are joined once. */
  readonly #inBoth: Subtrees;
  readonly #leaves: Digest[] = [];
  #firstPosition: Position | null = null;
  #seal: RecordedEvent | null = null;

  constructor(place: PagePlace) {
    this.#place = place;
    this.#inBoth = new Subtrees(place.ordinal, largestPowerIn(place.rangeFirst));
  }

  /** False: the page ends here; also before an event that does not stand right behind the one before it. */
  add(event: RecordedEvent, hasher: LeafHasher): boolean {
    const firstPosition = this.#firstPosition ?? event.position;
    if (event.position !== firstPosition + this.#leaves.length) return false;
    if (event.stream === SEALS_STREAM) {
      this.#firstPosition = firstPosition;
      this.#seal = event;
      return false;
    }
    this.append(hasher.hash(event, this.#place.ordinal + this.#leaves.length), event.position);
    return true;
  }

  /** The leaf of the event right behind. */
  append(leaf: Digest, position: Position): void {
    this.#firstPosition ??= position;
    this.#leaves.push(leaf);
    this.#inBoth.append(leaf);
  }

  page(isEnd: boolean): LeafPage {
    const { ordinal, rangeFirst } = this.#place;
    const inWhole = new Subtrees(ordinal);
    const inRange = new Subtrees(ordinal - rangeFirst);
    for (const { root, leaves } of this.#inBoth.trees) {
      inWhole.append(root, leaves);
      inRange.append(root, leaves);
    }
    return {
      ...{ leaves: this.#leaves.join(''), firstPosition: this.#firstPosition, seal: this.#seal, isEnd },
      ...{ inWhole: inWhole.trees, inRange: inRange.trees },
    };
  }
}

/** More leaves than a page has. */
const POWER_MAX = 2 ** 16;

/** The largest power of two of which the number is a multiple. */
export function largestPowerIn(number: number): number {
  let power = 1;
  while (power < POWER_MAX && number % (2 * power) === 0) power *= 2;
  return power;
}

import { counted } from '../../contracts/money.ts';
import { hexOf, type MerkleTree } from './merkle.ts';
import { rangeOf, type SealFault } from './seal-chain.ts';
import { type LedgerSealed, sealText } from './seal-signature.ts';

interface Anchor {
  readonly seal: LedgerSealed;
  /** Whether the log's events up to its end have its root; null as long as there are not so many. */
  holds: boolean | null;
  /** Whether the log's seal of the number is this one; null as long as there is none. */
  isInLog: boolean | null;
}

/** Seals from outside, compared with the log's seals and events. */
export class AnchorCheck {
  readonly #anchors: readonly Anchor[];
  readonly #bySeal: ReadonlyMap<number, readonly Anchor[]>;
  readonly #inOrder: readonly Anchor[];
  #next = 0;

  constructor(seals: readonly LedgerSealed[]) {
    this.#anchors = seals.map((seal) => ({ seal, holds: null, isInLog: null }));
    this.#bySeal = Map.groupBy(this.#anchors, ({ seal }) => seal.seal);
    this.#inOrder = this.#anchors.toSorted((one, other) => one.seal.treeSize - other.seal.treeSize);
  }

  /** A seal of the log. */
  compare(seal: LedgerSealed): void {
    for (const anchor of this.#bySeal.get(seal.seal) ?? []) anchor.isInLog ??= isSame(anchor.seal, seal);
  }

  /** The log's events up to here. */
  at(tree: MerkleTree): void {
    for (let anchor = this.#inOrder[this.#next]; anchor?.seal.treeSize === tree.size; ) {
      anchor.holds = hexOf(tree.root()) === anchor.seal.treeRoot;
      anchor = this.#inOrder[++this.#next];
    }
  }

  /** @param events how many the log has, at its end */
  faults(events: number, newest: LedgerSealed | null): SealFault[] {
    return this.#inOrder.flatMap(({ seal, holds, isInLog }) => {
      const found = problemOf(seal, { holds, isInLog }, events, newest);
      if (found === null) return [];
      const [kind, problem] = found;
      return [{ kind, seal: seal.seal, range: rangeOf(seal), problem }];
    });
  }

  /** How many of the log's events an anchor vouches for. */
  covered(events: number): number {
    const sizes = this.#anchors.filter(({ holds }) => holds === true).map(({ seal }) => seal.treeSize);
    return Math.min(Math.max(0, ...sizes), events);
  }
}

function problemOf(
  seal: LedgerSealed,
  { holds, isInLog }: Pick<Anchor, 'holds' | 'isInLog'>,
  events: number,
  newest: LedgerSealed | null,
): readonly ['tail' | 'fork', string] | null {
  const sealed = newest === null ? 'has no seals' : `its newest seal is ${newest.seal}`;
  if (holds === null)
    return [
      'tail',
      `the anchor is of ${counted(seal.treeSize, 'event')}, the log has ${events}, and ${sealed}: its tail is cut`,
    ];
  if (!holds)
    return [
      'fork',
      `the anchor is of ${counted(seal.treeSize, 'event')}, and the log has others in their place: they were written anew`,
    ];
  if (isInLog === false) return ['fork', 'the log has another seal of this number than the anchor'];
  if (isInLog === null) return ['tail', `the anchor's events are there, but not its seal (${sealed}): seals are cut`];
  return null;
}

const isSame = (one: LedgerSealed, other: LedgerSealed): boolean =>
  one.signature === other.signature && sealText(one) === sealText(other);

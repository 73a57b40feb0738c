import { HiddenStreamError, type ReadableLog, type RecordedEvent } from '../../contracts/event-log.ts';
import { type Position, SEALS_STREAM } from '../../contracts/ids.ts';
import { counted } from '../../contracts/money.ts';
import { AnchorCheck } from './anchors.ts';
import { LeafHasher } from './leaf.ts';
import { type DamagedEvent, locateDamage, type SealedLeaves } from './locate-damage.ts';
import { type Digest, hexOf, MerkleTree } from './merkle.ts';
import { rangeOf, SealChain, type SealFault, type TrustedKey } from './seal-chain.ts';
import type { LedgerSealed } from './seal-signature.ts';

export interface VerifySealsOptions {
  /** Keys from outside the log; null trusts the one that the log's first event of seals introduces. */
  readonly keys: readonly TrustedKey[] | null;
  /** Seals from outside the log. */
  readonly anchors: readonly LedgerSealed[];
  /** Leaf hashes from outside the log, by which an event is named. */
  readonly leaves: SealedLeaves | null;
  /** Handed the leaf hashes of each range that holds, in order, from the first event on; none after one that does not. */
  readonly onLeaves?: (leaves: readonly Digest[]) => void;
}

export interface SealVerdict {
  readonly verdict: 'anchored' | 'consistent, not anchored' | 'nothing is sealed' | 'damaged';
  /** In the order of the log, those of anchors last. */
  readonly faults: readonly SealFault[];
  /** Further ranges that do not hold, as none after one from which an event was taken does. */
  readonly furtherRanges: number;
  /** The event at which the first range fails; null where leaf hashes were not kept, or nothing failed. */
  readonly event: DamagedEvent | null;
  /** Events of the log, those of its seals left out. */
  readonly events: number;
  readonly seals: number;
  readonly newest: LedgerSealed | null;
  /** How many of them the newest seal covers, and how many a seal from outside. */
  readonly sealed: number;
  readonly anchored: number;
  /** Sealed behind what a seal from outside covers, which who has the key could have written anew; all where there is none. */
  readonly consistentOnly: number;
}

/** Reads the log once, and its seals beside it: whatever its length, it keeps one range's state. @throws EventLogError */
export async function verifySeals(log: ReadableLog, options: VerifySealsOptions): Promise<SealVerdict> {
  const head = await log.headPosition();
  const chain = new SealChain(options.keys);
  const anchors = new AnchorCheck(options.anchors);
  const ranges = new RangeCheck(chain.faults, options.onLeaves);
  // What a server hides is still among all events, until it is destroyed.
  const hidden = (await log.hiddenStreams?.()) ?? [];
  for (const { why } of hidden) chain.faults.push({ kind: 'hidden', seal: null, range: null, problem: why });
  const seals = sealsOf(log, head, chain);
  let seal = await nextOf(seals, anchors);
  for await (const event of log.readAll()) {
    if (head === null || event.position > head) break;
    if (event.stream === SEALS_STREAM) continue;
    ranges.add(event);
    anchors.at(ranges.tree);
    while (seal !== null && seal.data.treeSize <= ranges.tree.size) {
      ranges.close(seal);
      seal = await nextOf(seals, anchors);
    }
  }
  const events = ranges.tree.size;
  if (seal !== null) chain.faults.push(cutTail(seal.data, events));
  while (seal !== null) seal = await nextOf(seals, anchors);
  chain.end();
  const faults = [...chain.faults, ...anchors.faults(events, chain.newest)];
  const sealed = Math.min(chain.newest?.treeSize ?? 0, events);
  const anchored = anchors.covered(events);
  const { leaves } = options;
  const { firstBad } = ranges;
  return {
    verdict: verdictOf(faults, chain, options.anchors),
    faults,
    furtherRanges: ranges.furtherBad,
    event: leaves === null || firstBad === null ? null : await locateDamage(log, firstBad, leaves),
    ...{ events, seals: chain.seals, newest: chain.newest, sealed },
    ...{ anchored, consistentOnly: Math.max(0, sealed - anchored) },
  };
}

function verdictOf(
  faults: readonly SealFault[],
  { seals }: SealChain,
  anchors: readonly LedgerSealed[],
): SealVerdict['verdict'] {
  if (faults.length > 0) return 'damaged';
  if (seals === 0) return 'nothing is sealed';
  return anchors.length === 0 ? 'consistent, not anchored' : 'anchored';
}

interface SealInLog {
  readonly data: LedgerSealed;
  readonly position: Position;
}

/** What is sealed after the log's head was asked for seals events that are not read here. */
async function* sealsOf(log: ReadableLog, head: Position | null, chain: SealChain): AsyncGenerator<SealInLog, void> {
  try {
    for await (const event of log.readStream(SEALS_STREAM)) {
      if (head === null || event.position > head) return;
      const data = chain.take(event);
      if (data !== null) yield { data, position: event.position };
    }
  } catch (error) {
    if (!(error instanceof HiddenStreamError)) throw error;
    const { message: problem } = error;
    if (chain.faults.some((fault) => fault.problem === problem)) return;
    chain.faults.push({ kind: 'hidden', seal: null, range: null, problem });
  }
}

async function nextOf(seals: AsyncGenerator<SealInLog, void>, anchors: AnchorCheck): Promise<SealInLog | null> {
  const { value } = await seals.next();
  if (value === undefined) return null;
  anchors.compare(value.data);
  return value;
}

const cutTail = (seal: LedgerSealed, events: number): SealFault => ({
  ...{ kind: 'tail', seal: seal.seal, range: rangeOf(seal) },
  problem: `the log ends after ${counted(events, 'event')}, and its seals are of at least ${seal.treeSize}: its tail is cut`,
});

/** A range that does not hold: the log after this position is to be looked at. */
export interface BadRange {
  readonly seal: LedgerSealed;
  readonly after: Position | null;
}

class RangeCheck {
  readonly tree = new MerkleTree();
  firstBad: BadRange | null = null;
  furtherBad = 0;
  readonly #faults: SealFault[];
  readonly #onLeaves: ((leaves: readonly Digest[]) => void) | null;
  readonly #hasher = new LeafHasher();
  #range = new MerkleTree();
  #leaves: Digest[] = [];
  #after: Position | null = null;
  #last: Position | null = null;

  constructor(faults: SealFault[], onLeaves: ((leaves: readonly Digest[]) => void) | undefined) {
    this.#faults = faults;
    this.#onLeaves = onLeaves ?? null;
  }

  add(event: RecordedEvent): void {
    const leaf = this.#hasher.hash(event, this.tree.size);
    this.tree.append(leaf);
    this.#range.append(leaf);
    if (this.#onLeaves !== null) this.#leaves.push(leaf);
    this.#last = event.position;
  }

  /** What was added since the one before was the seal's range. */
  close({ data: seal, position }: SealInLog): void {
    const isWhole = this.#range.size === seal.count && hexOf(this.#range.root()) === seal.root;
    const fault = (kind: SealFault['kind'], problem: string): void => {
      this.#faults.push({ kind, seal: seal.seal, range: rangeOf(seal), problem });
    };
    if (this.firstBad !== null) this.furtherBad += isWhole ? 0 : 1;
    else if (!isWhole) {
      this.firstBad = { seal, after: this.#after };
      fault('range', 'its events are not those that were sealed');
    } else if (hexOf(this.tree.root()) !== seal.treeRoot)
      fault('range', 'the events before it are not those over which it was sealed');
    else if (this.#last !== null && position < this.#last) fault('order', 'it stands before events that it seals');
    if (isWhole && this.firstBad === null) this.#onLeaves?.(this.#leaves);
    this.#leaves = [];
    this.#range = new MerkleTree();
    this.#after = this.#last;
  }
}

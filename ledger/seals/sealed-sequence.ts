import assert from 'node:assert/strict';
import { decodeEvent } from '../../contracts/event-codec.ts';
import type { LeafPage, LeavesFrom, RecordedEvent } from '../../contracts/event-log.ts';
import { NO_STREAM, type Position, position, type Revision, SEALS_STREAM } from '../../contracts/ids.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { LeafHasher } from './leaf.ts';
import { type Digest, hexOf, MerkleTree, sha256 } from './merkle.ts';
import type { LedgerSealed, SealKeyIntroduced } from './seal-signature.ts';

/** The seals that are there do not fit the events that are there, so that no further one can follow them. */
class SealChainError extends Error {
  override readonly name = 'SealChainError';
}

/** What the sequence is up to and with a seal: enough to go on from there without the events before. */
export interface SealedFrontier {
  /** Of the seal in its stream, and where that stands in the log. */
  readonly revision: Revision;
  readonly sealPosition: Position;
  /** SHA-256 of the seal's stored data text. */
  readonly hash: string;
  /** Of the last event before those that it covers; null where it covers the first. */
  readonly after: Position | null;
  /** Of the last event that it covers. */
  readonly position: Position;
  /** Of the tree over all that is sealed. */
  readonly peaks: readonly Digest[];
  /** Introduced up to there. */
  readonly keys: readonly SealKeyIntroduced[];
}

/** Of events that stand right behind one another in the log. */
interface Leaves {
  readonly leaves: string;
  readonly firstPosition: Position;
}

const LEAF_CHARS = 32;

function* eachLeaf(leaves: string): Generator<Digest> {
  for (let at = 0; at < leaves.length; at += LEAF_CHARS) yield leaves.slice(at, at + LEAF_CHARS) as Digest;
}

/** A seal as it would follow, but for who signs it and when. */
type UnsignedRange = Pick<LedgerSealed, 'seal' | 'first' | 'count' | 'root' | 'treeSize' | 'treeRoot' | 'previous'>;

/**
 * The log as seals see it, taken event by event in its order: what is sealed as the few hashes that go on, what is not as a
 * hash an event.
 *
 *   0 ────────────── sealed ──────────────┬── leaves ──▶
 *   a tree of peaks                       a range of its own, and the tree as it would be with it
 */
export class SealedSequence {
  /** Of the last event of the stream `seals` that was taken. */
  revision: Revision = NO_STREAM;
  newest: LedgerSealed | null = null;
  frontier: SealedFrontier | null = null;
  readonly keys = new Map<string, SealKeyIntroduced>();
  readonly #hasher = new LeafHasher();
  #sealed = new MerkleTree();
  #unsealed: Leaves[] = [];
  #range = new MerkleTree();
  #ahead = new MerkleTree();
  #hash: string | null = null;

  /** How many events there are, sealed or not. */
  get size(): number {
    return this.#ahead.size;
  }

  /** How many events were taken that no seal covers. */
  get unsealed(): number {
    return this.#ahead.size - this.#sealed.size;
  }

  /** Of a sequence that has taken nothing. @param seal the frontier's, whose root tells whether it is: false where not */
  goOnFrom(frontier: SealedFrontier, seal: LedgerSealed): boolean {
    const tree = new MerkleTree(frontier.peaks, seal.treeSize);
    if (hexOf(tree.root()) !== seal.treeRoot) return false;
    this.#sealed = tree;
    this.#ahead = new MerkleTree(tree.peaks, tree.size);
    this.revision = frontier.revision;
    this.newest = seal;
    this.frontier = frontier;
    this.#hash = frontier.hash;
    for (const key of frontier.keys) this.keys.set(key.keyId, key);
    return true;
  }

  /** An event of the stream `seals` that was taken before is passed by. @throws SealChainError */
  take(event: RecordedEvent): void {
    if (event.stream === SEALS_STREAM) this.#takeSealEvent(event);
    else {
      const leaf = this.#hasher.hash(event, this.#ahead.size);
      this.#unsealed.push({ leaves: leaf, firstPosition: event.position });
      this.#range.append(leaf);
      this.#ahead.append(leaf);
    }
  }

  /** What a log that hashes is to be asked for next. */
  get place(): Pick<LeavesFrom, 'ordinal' | 'rangeFirst'> {
    return { ordinal: this.#ahead.size, rangeFirst: this.#sealed.size };
  }

  /** The same for what a log has hashed. @param place what it was asked for: what was sealed meanwhile has begun another range */
  takePage({ leaves, firstPosition, inWhole, inRange, seal }: LeafPage, place: SealedSequence['place']): void {
    assert(place.ordinal === this.#ahead.size, 'pages are taken one behind another');
    if (firstPosition !== null && leaves !== '') this.#unsealed.push({ leaves, firstPosition });
    for (const { root, leaves: count } of inWhole) this.#ahead.append(root as Digest, count);
    if (place.rangeFirst === this.#sealed.size)
      for (const { root, leaves: count } of inRange) this.#range.append(root as Digest, count);
    else for (const leaf of eachLeaf(leaves)) this.#range.append(leaf);
    if (seal !== null) this.take(seal);
  }

  /** The seal over all that is unsealed, of which there is something. */
  next(): UnsignedRange {
    return {
      seal: this.newest === null ? 0 : this.newest.seal + 1,
      first: this.#sealed.size,
      count: this.unsealed,
      root: hexOf(this.#range.root()),
      treeSize: this.#ahead.size,
      treeRoot: hexOf(this.#ahead.root()),
      previous: this.#hash,
    };
  }

  #takeSealEvent(recorded: RecordedEvent): void {
    const { revision } = recorded;
    if (revision <= this.revision) return;
    if (revision !== this.revision + 1)
      throw new SealChainError(`${SEALS_STREAM} goes from revision ${this.revision} to ${revision}`);
    const event = readSealEvent(recorded);
    if (event.type === 'SealKeyIntroduced') this.keys.set(event.data.keyId, event.data);
    else this.#follow(event.data, recorded);
    this.revision = revision;
  }

  #follow(seal: LedgerSealed, { data, revision, position }: RecordedEvent): void {
    if (seal.first !== this.#sealed.size || seal.count > this.unsealed || seal.previous !== this.#hash)
      throw new SealChainError(`seal ${seal.seal} does not follow what is sealed before it`);
    const last = this.#advance(seal.count);
    if (hexOf(this.#sealed.root()) !== seal.treeRoot)
      throw new SealChainError(`the events of seal ${seal.seal} are not those that it was made of`);
    this.newest = seal;
    this.#hash = hexOf(sha256(data));
    const [peaks, keys] = [[...this.#sealed.peaks], [...this.keys.values()]];
    if (last !== null)
      this.frontier = {
        ...{ revision, sealPosition: position, hash: this.#hash },
        ...{ after: this.frontier?.position ?? null, position: last, peaks, keys },
      };
  }

  /** Answers with the position of the last event that is sealed by it. */
  #advance(count: number): Position | null {
    const isAll = count === this.unsealed;
    const unsealed: Leaves[] = [];
    let last: Position | null = null;
    let rest = count;
    for (const { leaves, firstPosition } of this.#unsealed) {
      const covered = Math.min(rest, leaves.length / LEAF_CHARS);
      rest -= covered;
      if (covered > 0) last = position(firstPosition + covered - 1);
      const at = covered * LEAF_CHARS;
      if (!isAll) for (const leaf of eachLeaf(leaves.slice(0, at))) this.#sealed.append(leaf);
      if (at < leaves.length)
        unsealed.push({ leaves: leaves.slice(at), firstPosition: position(firstPosition + covered) });
    }
    if (isAll) this.#sealed = this.#ahead;
    this.#unsealed = unsealed;
    this.#range = new MerkleTree();
    this.#ahead = new MerkleTree(this.#sealed.peaks, this.#sealed.size);
    for (const { leaves } of unsealed)
      for (const leaf of eachLeaf(leaves)) {
        this.#range.append(leaf);
        this.#ahead.append(leaf);
      }
    return last;
  }
}

/** @throws UnreadableEventError also for one of another stream's types */
export function readSealEvent(recorded: RecordedEvent) {
  const event = decodeEvent(recorded);
  if (event.type === 'SealKeyIntroduced' || event.type === 'LedgerSealed') return event;
  throw new UnreadableEventError(`${SEALS_STREAM} revision ${recorded.revision}: ${event.type} does not belong there`);
}

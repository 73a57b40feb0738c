import { hash } from 'node:crypto';
import type { Subtree } from '../../contracts/event-log.ts';

/**
 * A SHA-256 as text of 32 characters, each of which is a byte: of the forms in which node:crypto answers the quickest by three
 * times, and as quickly written into the next node.
 */
export type Digest = string & { readonly __brand: 'Digest' };

export const sha256 = (bytes: Uint8Array | string): Digest => hash('sha256', bytes, 'binary') as Digest;

export const digestOfHex = (hex: string): Digest => Buffer.from(hex, 'hex').toString('latin1') as Digest;

export const hexOf = (digest: Digest): string => Buffer.from(digest, 'latin1').toString('hex');

const DIGEST_BYTES = 32;
/** What is hashed of a leaf begins with 0x00, of a node with 0x01: neither passes for the other. */
export const LEAF_PREFIX = 0x00;
const NODE_PREFIX = 0x01;

/** Hashes two children; its buffer is its own. */
class NodeHasher {
  readonly #bytes = Buffer.alloc(1 + 2 * DIGEST_BYTES, NODE_PREFIX);

  join(left: Digest, right: Digest): Digest {
    this.#bytes.write(left, 1, 'latin1');
    this.#bytes.write(right, 1 + DIGEST_BYTES, 'latin1');
    return sha256(this.#bytes);
  }
}

/**
 * A tree as RFC 6962, section 2.1, hashes it, of leaves that come one by one. It keeps its peaks: the roots of the full trees
 * of which it is made, largest first, one for each bit of its size.
 *
 *        ┌────┴────┐               peaks of 7 leaves: [0,4) [4,6) [6,7)
 *      ┌─┴─┐     ┌─┴─┐
 *     0 1 2 3   4 5  6
 */
export class MerkleTree {
  readonly #nodes = new NodeHasher();
  readonly #peaks: Digest[];
  #size: number;

  /** Goes on from the peaks of so many leaves. */
  constructor(peaks: readonly Digest[] = [], size = 0) {
    this.#peaks = [...peaks];
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  get peaks(): readonly Digest[] {
    return this.#peaks;
  }

  /** @param root a leaf hash, or the root of a full tree of `leaves`, of which the size is a multiple */
  append(root: Digest, leaves = 1): void {
    let node = root;
    for (let rest = this.#size / leaves; rest % 2 === 1; rest = (rest - 1) / 2)
      node = this.#nodes.join(this.#peaks.pop() as Digest, node);
    this.#peaks.push(node);
    this.#size += leaves;
  }

  /** Of no leaves: the hash of nothing. */
  root(): Digest {
    const last = this.#peaks.at(-1);
    if (last === undefined) return sha256('');
    return this.#peaks.slice(0, -1).reduceRight((right, left) => this.#nodes.join(left, right), last);
  }
}

/**
 * The largest full trees of which leaves are made that follow one another in a larger tree, in their order: each begins at a
 * multiple of its size there, as `append` takes it.
 */
export class Subtrees {
  readonly trees: Subtree<Digest>[] = [];
  readonly #nodes = new NodeHasher();
  readonly #leavesMax: number;
  #end: number;

  /** @param first where in the larger tree they begin @param leavesMax of one of them */
  constructor(first: number, leavesMax = Number.POSITIVE_INFINITY) {
    this.#end = first;
    this.#leavesMax = leavesMax;
  }

  /** @param root as `MerkleTree.append` takes it */
  append(root: Digest, leaves = 1): void {
    this.#end += leaves;
    let last = { root, leaves };
    for (let left = this.trees.at(-1); left?.leaves === last.leaves; left = this.trees.at(-1)) {
      const both = 2 * last.leaves;
      if (both > this.#leavesMax || this.#end % both !== 0) break;
      last = { root: this.#nodes.join(left.root, last.root), leaves: both };
      this.trees.pop();
    }
    this.trees.push(last);
  }
}

/** Leaves from the first to before the end. */
export interface LeafRange {
  readonly first: number;
  readonly end: number;
}

/** Whose hashes are the audit path of a leaf in a tree of `size` leaves (RFC 6962, section 2.1.1), from the leaf up. */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  for (let first = 0, end = size; end - first > 1; ) {
    const middle = first + largerHalf(end - first);
    if (index < middle) {
      ranges.push({ first: middle, end });
      end = middle;
    } else {
      ranges.push({ first, end: middle });
      first = middle;
    }
  }
  return ranges.reverse();
}

/** Whose hashes prove that the tree of `older` leaves is the beginning of the one of `newer` (RFC 6962, section 2.1.2). */
export function consistencyRanges(older: number, newer: number): LeafRange[] {
  if (older === 0) return [];
  const ranges: LeafRange[] = [];
  let first = 0;
  let end = newer;
  while (older !== end) {
    const middle = first + largerHalf(end - first);
    if (older <= middle) {
      ranges.push({ first: middle, end });
      end = middle;
    } else {
      ranges.push({ first, end: middle });
      first = middle;
    }
  }
  // Where it is the left edge, its root is the older tree's, which whoever checks has.
  if (first > 0) ranges.push({ first, end });
  return ranges.reverse();
}

/** The largest power of two below the size. */
function largerHalf(size: number): number {
  let half = 1;
  while (half * 2 < size) half *= 2;
  return half;
}

/** The roots of ranges that do not overlap, of leaves that come one by one. */
export class RangeRoots {
  readonly #trees: readonly (LeafRange & { readonly tree: MerkleTree })[];
  #next = 0;

  constructor(ranges: readonly LeafRange[]) {
    this.#trees = ranges.map((range) => ({ ...range, tree: new MerkleTree() }));
  }

  append(leaf: Digest): void {
    const ordinal = this.#next++;
    this.#trees.find(({ first, end }) => first <= ordinal && ordinal < end)?.tree.append(leaf);
  }

  /** In the order of the ranges. */
  roots(): Digest[] {
    return this.#trees.map(({ tree }) => tree.root());
  }
}

export interface Inclusion {
  readonly index: number;
  readonly size: number;
  readonly leaf: Digest;
  readonly path: readonly Digest[];
}

/** The root of the tree in which the path puts the leaf; null where it can be no path of it (RFC 9162, section 2.1.3.2). */
export function rootByInclusion({ index, size, leaf, path }: Inclusion): Digest | null {
  if (!(index >= 0 && index < size)) return null;
  const nodes = new NodeHasher();
  let at = index;
  let last = size - 1;
  let root = leaf;
  for (const other of path) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      root = nodes.join(other, root);
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else root = nodes.join(root, other);
    [at, last] = [half(at), half(last)];
  }
  return last === 0 ? root : null;
}

export interface Consistency {
  readonly older: { readonly size: number; readonly root: Digest };
  readonly newer: { readonly size: number; readonly root: Digest };
  readonly path: readonly Digest[];
}

/** Whether the path proves that the older tree is the beginning of the newer one (RFC 9162, section 2.1.4.2). */
export function isConsistent({ older, newer, path }: Consistency): boolean {
  if (older.size > newer.size || older.size < 1) return false;
  if (older.size === newer.size) return path.length === 0 && older.root === newer.root;
  const [start, ...rest] = isPowerOfTwo(older.size) ? [older.root, ...path] : path;
  if (start === undefined) return false;
  const nodes = new NodeHasher();
  let at = older.size - 1;
  let last = newer.size - 1;
  while (at % 2 === 1) [at, last] = [half(at), half(last)];
  let [olderRoot, newerRoot] = [start, start];
  for (const node of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      olderRoot = nodes.join(node, olderRoot);
      newerRoot = nodes.join(node, newerRoot);
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)];
    } else newerRoot = nodes.join(newerRoot, node);
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && olderRoot === older.root && newerRoot === newer.root;
}

/** No shift: sizes may pass 2^31. */
const half = (value: number): number => Math.floor(value / 2);

const isPowerOfTwo = (value: number): boolean => largerHalf(value) * 2 === value || value === 1;

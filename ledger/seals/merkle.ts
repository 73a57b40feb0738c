import { hash } from 'node:crypto';

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

  /** @param peaks of a tree of `size` leaves, from which this one goes on */
  constructor(peaks: readonly Digest[] = [], size = 0) {
    this.#peaks = [...peaks];
    this.#size = size;
  }

  get peaks(): readonly Digest[] {
    return this.#peaks;
  }

  get size(): number {
    return this.#size;
  }

  /** @param leaf its leaf hash */
  append(leaf: Digest): void {
    let node = leaf;
    for (let rest = this.#size; rest % 2 === 1; rest = (rest - 1) / 2)
      node = this.#nodes.join(this.#peaks.pop() as Digest, node);
    this.#peaks.push(node);
    this.#size += 1;
  }

  /** Of no leaves: the hash of nothing. */
  root(): Digest {
    const last = this.#peaks.at(-1);
    if (last === undefined) return sha256('');
    return this.#peaks.slice(0, -1).reduceRight((right, left) => this.#nodes.join(left, right), last);
  }
}

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  consistencyRanges,
  type Digest,
  digestOfHex,
  hexOf,
  inclusionRanges,
  isConsistent,
  type LeafRange,
  MerkleTree,
  RangeRoots,
  rootByInclusion,
} from '../../../ledger/seals/merkle.ts';

const sha = (...parts: readonly Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest();
const leafOf = (bytes: Uint8Array): Digest => sha(Buffer.of(0), bytes).toString('latin1') as Digest;

/** The Merkle tree hash word for word (RFC 6962, section 2.1). */
function mth(leaves: readonly Uint8Array[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return sha();
  if (leaves.length === 1) return sha(Buffer.of(0), only);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha(Buffer.of(1), mth(leaves.slice(0, split)), mth(leaves.slice(split)));
}

function rootOf(leaves: readonly Digest[]): Digest {
  const tree = new MerkleTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree.root();
}

function rootsOf(ranges: readonly LeafRange[], leaves: readonly Digest[]): Digest[] {
  const roots = new RangeRoots(ranges);
  for (const leaf of leaves) roots.append(leaf);
  return roots.roots();
}

/** The leaves, roots and proofs of the tests of Certificate Transparency (google/certificate-transparency, merkle tree tests). */
const CT_LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const CT_ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const CT_INCLUSIONS: readonly [leaf: number, size: number, path: readonly string[]][] = [
  [0, 1, []],
  [
    ...([0, 8] as const),
    [
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ],
  ],
  [
    ...([5, 8] as const),
    [
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ],
  ],
  [2, 3, ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']],
  [
    ...([1, 5] as const),
    [
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ],
  ],
];
const CT_CONSISTENCIES: readonly [older: number, newer: number, path: readonly string[]][] = [
  [1, 1, []],
  [
    ...([1, 8] as const),
    [
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ],
  ],
  [
    ...([6, 8] as const),
    [
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ],
  ],
  [
    ...([2, 5] as const),
    [
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ],
  ],
];

describe('the test data of Certificate Transparency', () => {
  const leaves = CT_LEAVES.map((hex) => leafOf(Buffer.from(hex, 'hex')));
  const ctRoot = (size: number): Digest => digestOfHex(CT_ROOTS[size - 1] as string);

  test('each tree of it has its root', () => {
    expect(leaves.map((_, index) => hexOf(rootOf(leaves.slice(0, index + 1))))).toEqual(CT_ROOTS);
    expect(hexOf(rootOf([]))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  test.each(CT_INCLUSIONS)('the path of leaf %i in %i leaves is made and leads to the root', (index, size, path) => {
    expect(rootsOf(inclusionRanges(index, size), leaves).map(hexOf)).toEqual(path);
    const leaf = leaves[index] as Digest;
    expect(rootByInclusion({ index, size, leaf, path: path.map(digestOfHex) })).toBe(ctRoot(size));
  });

  test.each(CT_CONSISTENCIES)('the proof from %i to %i leaves is made and holds', (older, newer, path) => {
    expect(rootsOf(consistencyRanges(older, newer), leaves).map(hexOf)).toEqual(path);
    const trees = { older: { size: older, root: ctRoot(older) }, newer: { size: newer, root: ctRoot(newer) } };
    expect(isConsistent({ ...trees, path: path.map(digestOfHex) })).toBe(true);
  });
});

const leavesArbitrary = fc.array(fc.uint8Array({ maxLength: 4 }), { minLength: 1, maxLength: 70 });
const changed = (digest: Digest): Digest => (String.fromCharCode(digest.charCodeAt(0) ^ 1) + digest.slice(1)) as Digest;

describe('trees of any size', () => {
  test('leaves that come one by one have the root that the definition gives', () => {
    fc.assert(
      fc.property(leavesArbitrary, (inputs) => {
        expect(hexOf(rootOf(inputs.map(leafOf)))).toBe(mth(inputs).toString('hex'));
      }),
      { numRuns: 60 },
    );
  });

  test('a tree goes on from its peaks, one for each bit of its size', () => {
    fc.assert(
      fc.property(leavesArbitrary, fc.nat(), (inputs, at) => {
        const leaves = inputs.map(leafOf);
        const tree = new MerkleTree();
        for (const leaf of leaves.slice(0, at % leaves.length)) tree.append(leaf);
        const further = new MerkleTree(tree.peaks, tree.size);
        expect(tree.peaks.length).toBe(tree.size.toString(2).replaceAll('0', '').length);
        for (const leaf of leaves.slice(tree.size)) further.append(leaf);
        expect(further.root()).toBe(rootOf(leaves));
      }),
      { numRuns: 60 },
    );
  });

  test('every leaf has a path, which proves nothing else', () => {
    fc.assert(
      fc.property(leavesArbitrary, fc.nat(), fc.nat(), (inputs, at, other) => {
        const leaves = inputs.map(leafOf);
        const size = leaves.length;
        const index = at % size;
        const leaf = leaves[index] as Digest;
        const path = rootsOf(inclusionRanges(index, size), leaves);
        const root = rootOf(leaves);
        expect(rootByInclusion({ index, size, leaf, path })).toBe(root);
        expect(rootByInclusion({ index, size, leaf: changed(leaf), path })).not.toBe(root);
        expect(rootByInclusion({ index, size, leaf, path: [...path, leaf] })).toBeNull();
        expect(rootByInclusion({ index: index + size, size, leaf, path })).toBeNull();
        if (path.length === 0) return;
        expect(rootByInclusion({ index, size, leaf, path: path.slice(1) })).not.toBe(root);
        const broken = path.with(other % path.length, changed(path[other % path.length] as Digest));
        expect(rootByInclusion({ index, size, leaf, path: broken })).not.toBe(root);
      }),
      { numRuns: 60 },
    );
  });

  test('every beginning is proved to be one, and nothing else is', () => {
    fc.assert(
      fc.property(leavesArbitrary, fc.nat(), fc.nat(), (inputs, at, other) => {
        const leaves = inputs.map(leafOf);
        const size = 1 + (at % leaves.length);
        const older = { size, root: rootOf(leaves.slice(0, size)) };
        const newer = { size: leaves.length, root: rootOf(leaves) };
        const path = rootsOf(consistencyRanges(size, leaves.length), leaves);
        expect(isConsistent({ older, newer, path })).toBe(true);
        expect(isConsistent({ older: { ...older, root: changed(older.root) }, newer, path })).toBe(false);
        expect(isConsistent({ older, newer: { ...newer, root: changed(newer.root) }, path })).toBe(false);
        expect(isConsistent({ older, newer, path: [...path, newer.root] })).toBe(false);
        if (path.length === 0) return;
        expect(isConsistent({ older: newer, newer: older, path })).toBe(false);
        expect(isConsistent({ older, newer, path: path.slice(1) })).toBe(false);
        const broken = path.with(other % path.length, changed(path[other % path.length] as Digest));
        expect(isConsistent({ older, newer, path: broken })).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  test('a size above 2^31 is walked as any other', () => {
    const size = 2 ** 40 + 3;
    expect(inclusionRanges(2 ** 40 + 1, size)).toEqual([
      { first: 2 ** 40, end: 2 ** 40 + 1 },
      { first: 2 ** 40 + 2, end: size },
      { first: 0, end: 2 ** 40 },
    ]);
    const path = ['a', 'b', 'c'].map((text) => leafOf(Buffer.from(text)));
    const leaf = leafOf(Buffer.from('leaf'));
    const join = (left: Digest, right: Digest): Digest =>
      sha(Buffer.of(1), Buffer.from(left, 'latin1'), Buffer.from(right, 'latin1')).toString('latin1') as Digest;
    const [a, b, c] = path as [Digest, Digest, Digest];
    expect(rootByInclusion({ index: 2 ** 40 + 1, size, leaf, path })).toBe(join(c, join(join(a, leaf), b)));
  });
});

import { expect, test } from 'vitest';
import { accountId, accountStream, eventId, position, revision, SEALS_STREAM } from '../../../contracts/ids.ts';
import { LeafHasher } from '../../../ledger/seals/leaf.ts';
import { LeafPageOf } from '../../../ledger/seals/leaf-page.ts';
import { type Digest, hexOf, MerkleTree } from '../../../ledger/seals/merkle.ts';

const FIRST_POSITION = 100;
const eventAt = (ordinal: number, stream = accountStream(accountId('acct_1'))) => ({
  ...{ stream, revision: revision(ordinal), type: 'CreditsGranted', data: `{"at":${ordinal}}`, metadata: '{}' },
  id: eventId(`01890a5d-ac96-7abc-bcce-${String(ordinal).padStart(12, '0')}`),
  position: position(FIRST_POSITION + ordinal),
});
const hasher = new LeafHasher();
const leafAt = (ordinal: number): Digest => hasher.hash(eventAt(ordinal), ordinal);

const treeOf = (first: number, end: number): MerkleTree => {
  const tree = new MerkleTree();
  for (let ordinal = first; ordinal < end; ordinal++) tree.append(leafAt(ordinal));
  return tree;
};

test('a page is the leaf hashes of its events, and the trees by which the whole and the range go on, wherever they stand', () => {
  for (let rangeFirst = 0; rangeFirst < 9; rangeFirst++)
    for (let ordinal = rangeFirst; ordinal < 20; ordinal++)
      for (const end of [ordinal, ordinal + 1, ordinal + 7, ordinal + 23]) {
        const making = new LeafPageOf({ ordinal, rangeFirst });
        for (let at = ordinal; at < end; at++) expect(making.add(eventAt(at), hasher)).toBe(true);
        const page = making.page(true);
        const [whole, range] = [treeOf(0, ordinal), treeOf(rangeFirst, ordinal)];
        for (const { root, leaves } of page.inWhole) whole.append(root as Digest, leaves);
        for (const { root, leaves } of page.inRange) range.append(root as Digest, leaves);
        expect([whole.size, hexOf(whole.root())]).toEqual([end, hexOf(treeOf(0, end).root())]);
        expect([range.size, hexOf(range.root())]).toEqual([end - rangeFirst, hexOf(treeOf(rangeFirst, end).root())]);
        expect(page.leaves).toBe(Array.from({ length: end - ordinal }, (_, at) => leafAt(ordinal + at)).join(''));
      }
});

test('a page of many events has few trees', () => {
  const making = new LeafPageOf({ ordinal: 77, rangeFirst: 10 });
  for (let at = 77; at < 77 + 2_048; at++) making.add(eventAt(at), hasher);
  const { inWhole, inRange } = making.page(false);
  expect(Math.max(inWhole.length, inRange.length)).toBeLessThanOrEqual(2 * 11);
});

test('a page ends behind an event of the seals, and before one that does not follow in the log', () => {
  const sealed = new LeafPageOf({ ordinal: 0, rangeFirst: 0 });
  expect([sealed.add(eventAt(0), hasher), sealed.add(eventAt(1, SEALS_STREAM), hasher)]).toEqual([true, false]);
  expect(sealed.page(false)).toMatchObject({ leaves: leafAt(0), firstPosition: 100, seal: eventAt(1, SEALS_STREAM) });
  const gap = new LeafPageOf({ ordinal: 0, rangeFirst: 0 });
  expect([gap.add(eventAt(0), hasher), gap.add({ ...eventAt(1), position: position(102) }, hasher)]).toEqual([
    true,
    false,
  ]);
  expect(gap.page(false)).toMatchObject({ leaves: leafAt(0), seal: null, isEnd: false });
});

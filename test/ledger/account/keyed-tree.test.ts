import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  changesOf,
  entriesOf,
  entryOf,
  type KeyedTree,
  treeOf,
  withEntry,
  withoutEntry,
} from '../../../ledger/account/keyed-tree.ts';

const oneByOne = (entries: Iterable<readonly [string, number]>): KeyedTree<number> => {
  let tree: KeyedTree<number> = null;
  for (const [key, value] of entries) tree = withEntry(tree, key, value);
  return tree;
};
const inOrder = (map: ReadonlyMap<string, number>) => [...map].sort(([one], [other]) => (one < other ? -1 : 1));

/** The nodes on the longest way down. */
const heightOf = (tree: KeyedTree<unknown>): number =>
  tree === null ? 0 : 1 + Math.max(heightOf(tree.left), heightOf(tree.right));

/** Nodes of one that are not of the other, too. */
function newIn(tree: KeyedTree<unknown>, before: KeyedTree<unknown>): number {
  const old = new Set(nodesOf(before));
  return [...nodesOf(tree)].filter((node) => !old.has(node)).length;
}

function* nodesOf(tree: KeyedTree<unknown>): Generator<object> {
  if (tree === null) return;
  yield tree;
  yield* nodesOf(tree.left);
  yield* nodesOf(tree.right);
}

const key = fc.oneof(fc.constantFrom('__proto__', 'constructor', '', 'a', 'b', 'c'), fc.string({ maxLength: 3 }));
const change = fc.record({ key, value: fc.option(fc.nat()) });

describe('a keyed tree', () => {
  test('holds what a map holds, in the order of its keys, and leaves every earlier one as it was', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const map = new Map<string, number>();
        let tree: KeyedTree<number> = null;
        const earlier: [KeyedTree<number>, (readonly [string, number])[]][] = [];
        for (const { key, value } of changes) {
          earlier.push([tree, inOrder(map)]);
          tree = value === null ? withoutEntry(tree, key) : withEntry(tree, key, value);
          if (value === null) map.delete(key);
          else map.set(key, value);
          expect(entryOf(tree, key)).toBe(map.get(key));
        }
        expect([...entriesOf(tree)]).toEqual(inOrder(map));
        for (const [before, entries] of earlier) expect([...entriesOf(before)]).toEqual(entries);
      }),
    );
  });

  test('tells what another one has otherwise, and looks at nothing that both share', () => {
    const of = (map: ReadonlyMap<string, number>) => (one: string) => map.get(one);
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), fc.array(change, { maxLength: 12 }), (first, then) => {
        const made = (changes: typeof first, tree: KeyedTree<number>) =>
          changes.reduce(
            (made, { key, value }) => (value === null ? withoutEntry(made, key) : withEntry(made, key, value)),
            tree,
          );
        const before = made(first, null);
        const now = made(then, before);
        const [was, is] = [of(new Map(entriesOf(before))), of(new Map(entriesOf(now)))];
        const keys = [...new Set([...entriesOf(before), ...entriesOf(now)].map(([one]) => one))];
        const differing = keys.filter((one) => was(one) !== is(one)).sort((one, other) => (one < other ? -1 : 1));
        const expected = differing.map((key) => ({ key, was: was(key), is: is(key) }));
        expect([...changesOf(before, now)]).toEqual(expected);
        // Of two that share nothing, too.
        expect([...changesOf(oneByOne(entriesOf(before)), oneByOne(entriesOf(now)))]).toEqual(expected);
      }),
    );
    const many = oneByOne(Array.from({ length: 20_000 }, (_, index) => [`${index}`, index]));
    const trapped = new Proxy({}, { get: () => expect.fail('it is looked at') }) as never;
    const top = many ?? expect.fail('it is not empty');
    const [one, other] = [0, 1].map((value) => ({ ...top, value, left: trapped }));
    expect([...changesOf(one ?? null, other ?? null)]).toEqual([{ key: top.key, was: 0, is: 1 }]);
  });

  test('has one shape, whatever came and went before', () => {
    fc.assert(
      fc.property(fc.uniqueArray(key, { minLength: 1, maxLength: 40 }), fc.array(key), (keys, others) => {
        const entries = keys.map((one, index) => [one, index] as const);
        const gone = others.filter((one) => !keys.includes(one));
        let tree = oneByOne([...gone.map((one) => [one, 0] as const), ...entries.toReversed()]);
        for (const one of gone) tree = withoutEntry(tree, one);
        expect(tree).toEqual(oneByOne(entries));
      }),
    );
  });

  test('made of all its entries at once is the one that they make one by one', () => {
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 60 }), (keys) => {
        const map = new Map(keys.map((one, index) => [one, index]));
        expect(treeOf(inOrder(map))).toEqual(oneByOne(map));
      }),
    );
  });

  test('of many keys in their order copies a few nodes a change, and its ways down are short', () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => `req_${String(index).padStart(12, '0')}`);
    const tree = oneByOne(keys.map((one, index) => [one, index]));
    expect(heightOf(tree)).toBeLessThan(60);
    for (const one of [keys[0], keys[10_000], keys.at(-1), 'req_z', '']) {
      expect(newIn(withEntry(tree, one ?? '', 1), tree)).toBeLessThan(70);
      if (entryOf(tree, one ?? '') === undefined) continue;
      expect(newIn(withoutEntry(tree, one ?? ''), tree)).toBeLessThan(70);
    }
  });
});

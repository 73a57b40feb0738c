/**
 * A map by text that nobody changes: with an entry more, or one less, it is another one, which shares with the one before
 * all but the few nodes on the way to the entry. So a fold that has gathered many of something takes a step on as cheaply
 * as at its beginning, and whoever has an earlier state goes on to have it. Null is empty.
 *
 * In the order of the keys, and of the same shape whatever the order in which they came: what decides which node stands
 * above which is a number made of its key. No library, because a state of the fold is plain data, equal field for field
 * whether it was folded or read back, and npm's maps that share are classes whose shape is their history (sorted-btree, which
 * copies twice the fields a change), or have no order by key.
 */
export type KeyedTree<V> = KeyedNode<V> | null;

interface KeyedNode<V> {
  readonly key: string;
  readonly value: V;
  readonly rank: number;
  readonly left: KeyedTree<V>;
  readonly right: KeyedTree<V>;
}

export function entryOf<V>(tree: KeyedTree<V>, key: string): V | undefined {
  for (let node = tree; node !== null; node = key < node.key ? node.left : node.right)
    if (node.key === key) return node.value;
  return undefined;
}

/** With an entry, in the place of the one of this key where there is one. */
export function withEntry<V>(tree: KeyedTree<V>, key: string, value: V): KeyedNode<V> {
  if (tree === null) return { key, value, rank: rankOf(key), left: null, right: null };
  if (key === tree.key) return { ...tree, value };
  if (key < tree.key) {
    const left = withEntry(tree.left, key, value);
    return isAbove(left, tree) ? { ...left, right: { ...tree, left: left.right } } : { ...tree, left };
  }
  const right = withEntry(tree.right, key, value);
  return isAbove(right, tree) ? { ...right, left: { ...tree, right: right.left } } : { ...tree, right };
}

/** Of entries in the order of their keys, at once: what `withEntry` makes of them one by one. */
export function treeOf<V>(entries: Iterable<readonly [key: string, value: V]>): KeyedTree<V> {
  // The way from the top to the last one, each to the right of the one before: what comes next stands there, too.
  const way: { -readonly [field in keyof KeyedNode<V>]: KeyedNode<V>[field] }[] = [];
  for (const [key, value] of entries) {
    const node = { key, value, rank: rankOf(key), left: null as KeyedTree<V>, right: null };
    for (let last = way.at(-1); last !== undefined && isAbove(node, last); last = way.at(-1))
      node.left = way.pop() ?? null;
    const above = way.at(-1);
    if (above !== undefined) above.right = node;
    way.push(node);
  }
  return way[0] ?? null;
}

export function withoutEntry<V>(tree: KeyedTree<V>, key: string): KeyedTree<V> {
  if (tree === null) return null;
  if (key === tree.key) return joined(tree.left, tree.right);
  if (key < tree.key) return { ...tree, left: withoutEntry(tree.left, key) };
  return { ...tree, right: withoutEntry(tree.right, key) };
}

/** In the order of the keys. */
export function* entriesOf<V>(tree: KeyedTree<V>): Generator<readonly [key: string, value: V]> {
  const above: KeyedNode<V>[] = [];
  for (let node = tree; node !== null || above.length > 0; ) {
    for (; node !== null; node = node.left) above.push(node);
    const next = above.pop();
    if (next === undefined) return;
    yield [next.key, next.value];
    node = next.right;
  }
}

export function* valuesOf<V>(tree: KeyedTree<V>): Generator<V> {
  for (const [, value] of entriesOf(tree)) yield value;
}

/** The same of entries in whatever order. */
export const treeOfSorted = <V>(entries: Iterable<readonly [key: string, value: V]>): KeyedTree<V> =>
  treeOf([...entries].sort(([one], [other]) => (one < other ? -1 : Number(one > other))));

interface EntryChange<V> {
  readonly key: string;
  /** Undefined where there was none, or is none any more. */
  readonly was: V | undefined;
  readonly is: V | undefined;
}

/** The entries of one tree that the other has otherwise, or not. What both share is not looked at. */
export function* changesOf<V>(before: KeyedTree<V>, after: KeyedTree<V>): Generator<EntryChange<V>> {
  if (before === after) return;
  if (before === null || after === null) {
    for (const [key, was] of entriesOf(before)) yield { key, was, is: undefined };
    for (const [key, is] of entriesOf(after)) yield { key, was: undefined, is };
    return;
  }
  // Of both the one that stands above is in the other at its top, or nowhere.
  const top = before.key === after.key || isAbove(after, before) ? after : before;
  const [was, is] = [atTop(before, top.key), atTop(after, top.key)];
  yield* changesOf(was.left, is.left);
  if (was.value !== is.value) yield { key: top.key, was: was.value, is: is.value };
  yield* changesOf(was.right, is.right);
}

/** What stands before a key, at it, and behind it. */
function atTop<V>(node: KeyedNode<V>, key: string): Pick<KeyedNode<V | undefined>, 'value'> & Sides<V> {
  return node.key === key ? node : { value: undefined, ...sidesOf(node, key) };
}

interface Sides<V> {
  readonly left: KeyedTree<V>;
  readonly right: KeyedTree<V>;
}

/** A tree without the key, divided by it. */
function sidesOf<V>(tree: KeyedTree<V>, key: string): Sides<V> {
  if (tree === null) return { left: null, right: null };
  if (tree.key < key) {
    const { left, right } = sidesOf(tree.right, key);
    return { left: { ...tree, right: left }, right };
  }
  const { left, right } = sidesOf(tree.left, key);
  return { left, right: { ...tree, left: right } };
}

/** As an object by key, for people and files. */
export const recordOf = <V>(tree: KeyedTree<V>): Record<string, V> => Object.fromEntries(entriesOf(tree));

/** All keys of the one stand before all of the other. */
function joined<V>(left: KeyedTree<V>, right: KeyedTree<V>): KeyedTree<V> {
  if (left === null) return right;
  if (right === null) return left;
  if (isAbove(left, right)) return { ...left, right: joined(left.right, right) };
  return { ...right, left: joined(left, right.left) };
}

const isAbove = (one: KeyedNode<unknown>, other: KeyedNode<unknown>): boolean =>
  one.rank === other.rank ? one.key < other.key : one.rank > other.rank;

/** As good as drawn by lot, so that no order of keys makes a long way down: FNV-1a, and MurmurHash3's last mixing. */
function rankOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}

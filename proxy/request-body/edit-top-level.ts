import assert from 'node:assert/strict';
import type { TopLevel } from './top-level.ts';

export interface TopLevelEdits {
  /** JSON text by key: replaces the value, or is added at the end where the key is not there. */
  readonly set?: Readonly<Record<string, string>>;
  /** Goes with its comma. A key is either set or removed. */
  readonly remove?: readonly string[];
  /** Everything else goes. */
  readonly keepOnly?: ReadonlySet<string>;
}

/** Bytes from `from` up to `to` (exclusive) give way to a text. */
export interface ByteEdit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * What changes in the bytes of a JSON object where members of it do, in order; everything else stays as it was, byte for
 * byte. A key that stands twice is changed everywhere. Only members whose places were kept by their name can be told apart.
 *
 * A member that goes takes the comma before it along, or, where none that stays stands before it, the one after it:
 *
 *     { "gone": 1, "also": 2, "kept": 3, "gone": 4, "set": 5 }     with "new" added
 *       ╰─────────────────────╯        ╰──────────╯        ╰╯╰ ,"new":6
 */
export function editTopLevel(
  { inside, members }: TopLevel,
  { set = {}, remove = [], keepOnly }: TopLevelEdits,
): ByteEdit[] {
  const texts = new Map(Object.entries(set));
  assert(!remove.some((key) => texts.has(key)), 'a key is either set or removed');
  const goes = (name: string | null): boolean =>
    name === null ? keepOnly !== undefined : remove.includes(name) || keepOnly?.has(name) === false;
  const changes: ByteEdit[] = [];
  const missing = new Map(texts);
  let hasKept = false;
  let goneFrom: number | null = null;
  let end = inside;
  for (const { name, from, valueFrom, to } of members) {
    const before = end;
    end = to;
    if (goes(name)) {
      if (hasKept) changes.push({ from: before, to, text: '' });
      else goneFrom ??= from;
      continue;
    }
    if (goneFrom !== null) changes.push({ from: goneFrom, to: from, text: '' });
    goneFrom = null;
    hasKept = true;
    const text = name === null ? undefined : texts.get(name);
    if (name === null || text === undefined) continue;
    changes.push({ from: valueFrom, to, text });
    missing.delete(name);
  }
  if (goneFrom !== null) changes.push({ from: goneFrom, to: end, text: '' });
  const added = Array.from(missing, ([key, text]) => `${JSON.stringify(key)}:${text}`).join(',');
  if (added !== '') changes.push({ from: end, to: end, text: hasKept ? `,${added}` : added });
  return changes;
}

import assert from 'node:assert/strict';
import { TopLevelScan } from './json-scan.ts';

export interface TopLevelEdits {
  /** JSON text by key: replaces the value, or is added at the end where the key is not there. */
  readonly set?: Readonly<Record<string, string>>;
  /** Goes with its comma. A key is either set or removed. */
  readonly remove?: readonly string[];
}

/**
 * Changes members of a JSON object in its bytes; everything else stays as it was, byte for byte. A key that stands
 * twice is changed everywhere. The body is valid JSON with an object on top; it comes back itself where nothing changes.
 */
export function editTopLevel(body: Buffer, { set = {}, remove = [] }: TopLevelEdits): Buffer {
  const texts = new Map(Object.entries(set));
  assert(!remove.some((key) => texts.has(key)), 'a key is either set or removed');
  return spliced(body, changesOf(body, texts, new Set(remove)));
}

/** Bytes from `from` up to `to` (exclusive) give way to a text. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * A member that goes takes the comma before it along, or, where none that stays stands before it, the one after it:
 *
 *     { "gone": 1, "also": 2, "kept": 3, "gone": 4, "set": 5 }     with "new" added
 *       ╰─────────────────────╯        ╰──────────╯        ╰╯╰ ,"new":6
 */
function changesOf(body: Buffer, texts: ReadonlyMap<string, string>, removed: ReadonlySet<string>): Change[] {
  const changes: Change[] = [];
  const missing = new Map(texts);
  const scan = new TopLevelScan(body);
  let hasKept = false;
  let goneFrom: number | null = null;
  let end = scan.inside;
  for (; scan.next(); end = scan.valueEnd) {
    const { key } = scan;
    if (removed.has(key)) {
      if (hasKept) changes.push({ from: end, to: scan.valueEnd, text: '' });
      else goneFrom ??= scan.keyStart;
      continue;
    }
    if (goneFrom !== null) changes.push({ from: goneFrom, to: scan.keyStart, text: '' });
    goneFrom = null;
    hasKept = true;
    const text = texts.get(key);
    if (text === undefined) continue;
    changes.push({ from: scan.valueStart, to: scan.valueEnd, text });
    missing.delete(key);
  }
  if (goneFrom !== null) changes.push({ from: goneFrom, to: end, text: '' });
  const added = Array.from(missing, ([key, text]) => `${JSON.stringify(key)}:${text}`).join(',');
  if (added !== '') changes.push({ from: end, to: end, text: hasKept ? `,${added}` : added });
  return changes;
}

function spliced(body: Buffer, changes: readonly Change[]): Buffer {
  if (changes.length === 0) return body;
  const pieces: Buffer[] = [];
  let copied = 0;
  for (const { from, to, text } of changes) {
    if (from > copied) pieces.push(body.subarray(copied, from));
    if (text !== '') pieces.push(Buffer.from(text));
    copied = to;
  }
  pieces.push(body.subarray(copied));
  return Buffer.concat(pieces);
}

import { TopLevelScan } from './json-scan.ts';

/**
 * The first of some top-level keys that stands twice, or null. Parsers differ in which of two they take, so a caller
 * could be billed for one model and served another. The body is valid JSON with an object on top.
 *
 * Keys are compared without regard to case, for so do some parsers: to Go's encoding/json, `MODEL` is another `model`.
 *
 * The scan goes over strings by native search and parses nothing, which is faster than to search the bytes for each key.
 */
export function findDuplicateKeys(body: Buffer, keys: readonly string[]): string | null {
  const watched = byFoldedName(keys);
  const seen: string[] = [];
  const scan = new TopLevelScan(body);
  while (scan.next()) {
    const { key: spelled } = scan;
    const key = watched.get(spelled) ?? watched.get(folded(spelled));
    if (key === undefined) continue;
    if (seen.includes(key)) return key;
    seen.push(key);
  }
  return null;
}

/** Both ways, because some letters meet in one case alone, such as s and the long s. */
const folded = (key: string): string => key.toUpperCase().toLowerCase();

/** One list of keys is asked for again and again. */
const foldedNames = new WeakMap<readonly string[], ReadonlyMap<string, string>>();

function byFoldedName(keys: readonly string[]): ReadonlyMap<string, string> {
  let names = foldedNames.get(keys);
  if (names === undefined) {
    names = new Map(keys.map((key) => [folded(key), key]));
    foldedNames.set(keys, names);
  }
  return names;
}

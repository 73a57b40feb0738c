import { scanTopLevel } from './json-scan.ts';

const ESCAPE = Buffer.from('\\u00');

/**
 * The first of some top-level keys that stands twice, or null. Parsers differ in which of two they take, so a caller
 * could be billed for one model and served another. The body is valid JSON with an object on top.
 *
 * Nearly free for ordinary bodies: a key that stands once in the bytes, where no letter of it can be escaped, cannot
 * stand twice on the top.
 */
export function findDuplicateKeys(body: Buffer, keys: readonly string[]): string | null {
  const mayStandTwice = body.includes(ESCAPE) || keys.some((key) => standsTwice(body, key));
  if (!mayStandTwice) return null;
  const watched = new Set(keys);
  const seen = new Set<string>();
  for (const { key } of scanTopLevel(body).members) {
    if (watched.has(key) && seen.has(key)) return key;
    seen.add(key);
  }
  return null;
}

const quoted = new Map<string, Buffer>();

function standsTwice(body: Buffer, key: string): boolean {
  let token = quoted.get(key);
  if (token === undefined) {
    token = Buffer.from(JSON.stringify(key));
    quoted.set(key, token);
  }
  const first = body.indexOf(token);
  return first !== -1 && body.indexOf(token, first + token.length) !== -1;
}

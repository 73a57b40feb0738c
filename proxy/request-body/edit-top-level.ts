import { type Member, scanTopLevel } from './json-scan.ts';

export interface TopLevelEdits {
  /** JSON text by key: replaces the value, or is added in front where the key is not there. */
  readonly set?: Readonly<Record<string, string>>;
  readonly remove?: readonly string[];
}

/**
 * Changes members of a JSON object in its bytes; everything else stays as it was, byte for byte. A key that stands
 * twice is changed everywhere. The body is valid JSON with an object on top.
 */
export function editTopLevel(body: Buffer, { set = {}, remove = [] }: TopLevelEdits): Buffer {
  const { open, members } = scanTopLevel(body);
  const removed = new Set(remove);
  const kept = members.filter(({ key }) => !removed.has(key));
  const added = Object.entries(set).filter(([key]) => !kept.some((member) => member.key === key));
  const inserted = added.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',');
  const pieces: Buffer[] = [body.subarray(0, open + 1)];
  if (inserted !== '') pieces.push(Buffer.from(kept.length > 0 ? `${inserted},` : inserted));
  const end = members.length === 0 ? open + 1 : (members.at(-1)?.valueEnd ?? open + 1);
  if (kept.length === members.length) copyMembers(body, open + 1, members, set, pieces);
  else joinMembers(body, kept, set, pieces);
  pieces.push(body.subarray(end));
  return Buffer.concat(pieces);
}

/** All members stay: their values alone change, and what is between them does not. */
function copyMembers(
  body: Buffer,
  from: number,
  members: readonly Member[],
  set: Record<string, string>,
  pieces: Buffer[],
): void {
  let copied = from;
  for (const { key, valueStart, valueEnd } of members) {
    const text = Object.hasOwn(set, key) ? set[key] : undefined;
    if (text === undefined) continue;
    pieces.push(body.subarray(copied, valueStart), Buffer.from(text));
    copied = valueEnd;
  }
  pieces.push(body.subarray(copied, members.at(-1)?.valueEnd ?? copied));
}

/** Some members go: each that stays keeps its own bytes, with a comma between. */
function joinMembers(body: Buffer, kept: readonly Member[], set: Record<string, string>, pieces: Buffer[]): void {
  for (const [index, { key, keyStart, valueStart, valueEnd }] of kept.entries()) {
    if (index > 0) pieces.push(Buffer.from(','));
    const text = Object.hasOwn(set, key) ? set[key] : undefined;
    if (text === undefined) pieces.push(body.subarray(keyStart, valueEnd));
    else pieces.push(body.subarray(keyStart, valueStart), Buffer.from(text));
  }
}

import { FIELDS_OF_DATA, SCHEMA_FIELD, TOOL_USES } from '../../contracts/outside-input.ts';

/** How long the longest cache is that a request may write; null where it asks for none. */
export type AskedCache = '5m' | '1h' | null;

const NAME = 'cache_control';

/**
 * The dearest cache that a request asks for, wherever `cache_control` may stand in it: on the request, on blocks of the
 * system and of messages, in what stands inside of those at any depth, on tools, and in what nobody knows. What is the
 * client's own data (a tool's schema and arguments, metadata) is not gone through: no provider looks for a cache there.
 */
export function cacheAskedFor(request: object, body: Buffer): AskedCache {
  // Most requests ask for none, and are not gone through.
  if (!mayName(body)) return null;
  let dearest: AskedCache = null;
  const fields = request as Fields;
  for (const name in fields) {
    if (FIELDS_OF_DATA.has(name)) continue;
    dearest = dearer(dearest, name === NAME ? durationOf(fields[name]) : dearestIn(fields[name]));
    if (dearest === '1h') return dearest;
  }
  return dearest;
}

type Fields = { readonly [field: string]: unknown };

/** JSON has one escape for a letter: its four digits. */
const SPELLED = new RegExp(`"${[...NAME].map((letter) => `(?:${letter}|${escapeOf(letter)})`).join('')}"`);

function escapeOf(letter: string): string {
  const digits = letter.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\\\u${digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`;
}

/** Whether the name may stand in the bytes, plainly or spelled with escapes. Escapes of other letters do not matter. */
const mayName = (body: Buffer): boolean =>
  body.includes(NAME) || (body.includes('\\u00') && SPELLED.test(body.toString('latin1')));

/** Recursion is bounded: a body's depth is (LIMITS.requestDepthMax). */
function dearestIn(value: unknown): AskedCache {
  if (value === null || typeof value !== 'object') return null;
  let dearest: AskedCache = null;
  if (Array.isArray(value)) {
    for (const inner of value) {
      dearest = dearer(dearest, dearestIn(inner));
      if (dearest === '1h') return dearest;
    }
    return dearest;
  }
  const fields = value as Fields;
  for (const name in fields) {
    if (name === SCHEMA_FIELD || (name === 'input' && TOOL_USES.has(fields.type))) continue;
    dearest = dearer(dearest, name === NAME ? durationOf(fields[name]) : dearestIn(fields[name]));
    if (dearest === '1h') return dearest;
  }
  return dearest;
}

/** A lifetime that is not known is the dearest that there is. */
function durationOf(control: unknown): AskedCache {
  if (control === null || control === undefined) return null;
  const ttl = typeof control === 'object' && 'ttl' in control ? control.ttl : null;
  return ttl === null || ttl === undefined || ttl === '5m' ? '5m' : '1h';
}

const dearer = (one: AskedCache, other: AskedCache): AskedCache =>
  one === '1h' || other === '1h' ? '1h' : (one ?? other);

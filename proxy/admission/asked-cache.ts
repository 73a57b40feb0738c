/** How long the longest cache is that a request may write; null where it asks for none. */
export type AskedCache = '5m' | '1h' | null;

const NAME = 'cache_control';

/**
 * The dearest cache that a request asks for, wherever `cache_control` may stand in it: on the request, on blocks of the
 * system and of messages, in what stands inside of those at any depth, and on tools. An object of that name in a tool's
 * schema or arguments counts, too: that only holds more.
 */
export function cacheAskedFor(request: object, body: Buffer): AskedCache {
  // Most requests ask for none, and are not gone through: a name that is spelled with escapes has a backslash before a u.
  return body.includes(NAME) || body.includes('\\u') ? dearestIn(request) : null;
}

function dearestIn(value: object): AskedCache {
  let dearest: AskedCache = null;
  if (Array.isArray(value)) {
    for (const inner of value) {
      if (inner === null || typeof inner !== 'object') continue;
      dearest = dearer(dearest, dearestIn(inner));
      if (dearest === '1h') return dearest;
    }
    return dearest;
  }
  for (const [name, inner] of Object.entries(value)) {
    if (name === NAME) dearest = dearer(dearest, durationOf(inner));
    else if (inner !== null && typeof inner === 'object') dearest = dearer(dearest, dearestIn(inner));
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

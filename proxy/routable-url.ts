/** A path that nobody has. */
const NO_PATH = '/no-path';
const ORIGIN = /^https?:\/\/[^/?#]+/i;
const BEHIND_PATH = /[?#]/;

/**
 * A request's target as the router can take it: past what is no path, or cannot be decoded, the router answers without one hook
 * having run, and with it none of the bounds. Such a target stands for a path that nobody has. One with a host in it (RFC 9112,
 * section 3.2.2) is its path.
 */
export function routableUrl(target: string): string {
  const url = target.startsWith('/') ? target : pathOfAbsolute(target);
  return !url.includes('%') || isDecodable(url.split(BEHIND_PATH, 1)[0] ?? '') ? url : NO_PATH;
}

/** By hand: to parse a host takes time that grows with the square of its length. */
function pathOfAbsolute(target: string): string {
  const origin = ORIGIN.exec(target)?.[0];
  if (origin === undefined) return NO_PATH;
  const path = target.slice(origin.length);
  return path.startsWith('/') ? path : `/${path}`;
}

function isDecodable(path: string): boolean {
  try {
    decodeURI(path);
    return true;
  } catch {
    return false;
  }
}

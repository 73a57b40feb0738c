import { instant } from '../../contracts/instant.ts';
import type { ApiKey } from './account-state.ts';

type KeyState = 'in use' | 'expired' | 'revoked';

/** What a key is at an instant. Its end is exclusive; one that was revoked is so, whether it has ended, too, or not. */
export function keyStateAt(
  { revokedAtMs, expiresAtMs }: Pick<ApiKey, 'revokedAtMs' | 'expiresAtMs'>,
  atMs: number,
): KeyState {
  if (revokedAtMs !== null) return 'revoked';
  return expiresAtMs !== null && expiresAtMs <= atMs ? 'expired' : 'in use';
}

/** Until when a key's secret works, in ms since 1970, that was to work until an instant: no longer than the key. */
export const untilAtMostEnd = ({ expiresAtMs }: Pick<ApiKey, 'expiresAtMs'>, untilMs: number): number =>
  expiresAtMs === null ? untilMs : Math.min(untilMs, expiresAtMs);

/** The secret before a key's newest; events of before have given it longer than the key itself. */
export const previousOf = (key: Pick<ApiKey, 'previous' | 'expiresAtMs'>): ApiKey['previous'] =>
  key.previous === null ? null : { ...key.previous, untilMs: untilAtMostEnd(key, key.previous.untilMs) };

/** The same, where it still works at an instant; its end is exclusive. */
export function previousAt(key: Pick<ApiKey, 'previous' | 'expiresAtMs'>, atMs: number): ApiKey['previous'] {
  const previous = previousOf(key);
  return previous !== null && previous.untilMs > atMs ? previous : null;
}

/** How a key stands at an instant, as all lists of keys say it: with since when it is over, or until when the secret before works. */
export function keyInWords(
  key: Pick<ApiKey, 'revokedAtMs' | 'expiresAtMs' | 'previous'>,
  atMs: number,
  written: (ms: number) => string = instant,
): string {
  const state = keyStateAt(key, atMs);
  const { revokedAtMs, expiresAtMs } = key;
  const endedAtMs = state === 'revoked' ? revokedAtMs : state === 'expired' ? expiresAtMs : null;
  if (endedAtMs !== null) return `${state} ${written(endedAtMs)}`;
  const previous = previousAt(key, atMs);
  return previous === null ? state : `${state}; its secret before until ${written(previous.untilMs)}`;
}

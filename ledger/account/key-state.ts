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

/** The secret before a key's newest, where it still works at an instant; its end is exclusive. */
export const previousAt = ({ previous }: Pick<ApiKey, 'previous'>, atMs: number): ApiKey['previous'] =>
  previous !== null && previous.untilMs > atMs ? previous : null;

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

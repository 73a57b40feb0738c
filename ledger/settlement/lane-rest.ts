import { LIMITS } from '../../contracts/limits.ts';

/** Other writers of the account were always first. */
export class ContentionError extends Error {
  override readonly name = 'ContentionError';
}

/** How long a lane rests after so many failures in a row. With jitter, so that accounts that failed together do not try together. */
export function backOffMs(failures: number): number {
  const longest = Math.min(LIMITS.settlementBackoffMs * 2 ** (failures - 1), LIMITS.settlementBackoffMaxMs);
  return longest * (0.5 + Math.random() / 2);
}

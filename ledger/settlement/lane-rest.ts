import { LIMITS } from '../../contracts/limits.ts';
import { backOffMs as backOff } from '../back-off.ts';

const BOUNDS = { firstMs: LIMITS.settlementBackoffMs, maxMs: LIMITS.settlementBackoffMaxMs };

/** Other writers of the account were always first. */
export class ContentionError extends Error {
  override readonly name = 'ContentionError';
}

/** How long a lane rests after so many failures in a row. @param random at least 0, less than 1 */
export function backOffMs(failures: number, random: number): number {
  return backOff(BOUNDS, failures, random);
}

import { LIMITS } from '../../contracts/limits.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';

const BEYOND = 10n ** BigInt(LIMITS.amountDigitsMax);

/** A sum that an account's state can be kept with, and read again. @throws RangeError for a larger one */
export function keptAmount(sum: bigint): MicroUsd {
  if (sum >= BEYOND || sum <= -BEYOND)
    throw new RangeError(`an amount would have more than ${LIMITS.amountDigitsMax} digits`);
  return microUsd(sum);
}

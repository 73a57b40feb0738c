import { LIMITS } from '../../contracts/limits.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';

const BEYOND = 10n ** BigInt(LIMITS.amountDigitsMax);
/** Made once: the numbers are large, and each debit is compared with them. */
const BELOW = -BEYOND;

/** A sum that an account's state can be kept with, and read again. @throws RangeError for a larger one, or less than nothing */
export function keptAmount(sum: bigint): MicroUsd {
  if (sum < 0n) throw new RangeError(`an amount would be ${sum}, less than nothing`);
  if (sum >= BEYOND) throw tooLarge();
  return microUsd(sum);
}

/** The same of one that may be less than nothing. @throws RangeError */
export function keptBalance(sum: bigint): MicroUsd {
  if (sum >= BEYOND || sum <= BELOW) throw tooLarge();
  return microUsd(sum);
}

const tooLarge = (): RangeError => new RangeError(`an amount would have more than ${LIMITS.amountDigitsMax} digits`);

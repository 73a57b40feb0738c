import type { AccountId } from '../../contracts/ids.ts';
import { type CommandContext, CommandError, EXIT } from './command-context.ts';

interface OfProduct {
  readonly id: AccountId;
  readonly product: string;
  /** The configuration's. */
  readonly served: string;
}

/** Misspelt in one of the two, it has credits and keys that no gateway here knows. */
export function warnOfOtherProduct(context: CommandContext, { id, product, served }: OfProduct): void {
  if (product === served) return;
  context.warn(
    `warning: ${id} is of the product ${product}, for good: gateways whose configuration has product ${served} do not serve it\n`,
  );
}

/** Of `refuseProduct`. */
export const NO_ACCOUNTS = 'the ledger has no accounts';

/** Nothing of a product that is misspelt is no answer. @throws CommandError */
export function refuseProduct(product: string, where: string, products: Iterable<string>): never {
  const others = [...new Set(products)].toSorted();
  const known = others.length === 0 ? 'none' : `those of ${others.join(', ')}`;
  throw new CommandError(`--product: ${where} of ${JSON.stringify(product)}; it has ${known}`, EXIT.refused);
}

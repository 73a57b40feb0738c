import type { AccountId } from '../../contracts/ids.ts';
import type { CommandContext } from './command-context.ts';

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

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

/** What is said of a product that no account is of. */
export const NO_ACCOUNTS = 'the ledger has no accounts';

/** Nothing of a product that is misspelt is no answer. @throws CommandError */
export function refuseProduct(product: string, where: string, products: Iterable<string>): never {
  throw new CommandError(
    `--product: ${where} of ${JSON.stringify(product)}; it has ${productsInWords(products)}`,
    EXIT.refused,
  );
}

/** The same of the configuration's, which may be a new one. @param others as `otherProducts` of the views has them */
export function warnOfNoAccounts(context: CommandContext, served: string, others: readonly string[]): void {
  if (others.length === 0) return;
  context.warn(
    `warning: ${NO_ACCOUNTS} of ${served}, the product of this configuration; it has ${productsInWords(others)}: where ${served} is no new one, mend \`product\` in the configuration\n`,
  );
}

export function productsInWords(products: Iterable<string>): string {
  const names = [...new Set(products)].toSorted();
  return names.length === 0 ? 'none' : `those of ${names.join(', ')}`;
}

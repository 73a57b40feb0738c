import type { Logger } from 'pino';
import type { Projections } from '../projections/projections.ts';

interface UnservedProductParts {
  /** Of the configuration. */
  readonly product: string;
  readonly projections: Pick<Projections, 'isLive' | 'accounts'>;
  readonly logger: Logger;
}

/**
 * That the ledger has accounts, and none of the product that this gateway serves: where `product` is forgotten or misspelt,
 * each key is unknown here. So it is with a new product, too, until its first account is opened: it is ready all the same.
 */
export class UnservedProduct {
  readonly #parts: UnservedProductParts;
  #isTold = false;

  constructor(parts: UnservedProductParts) {
    this.#parts = parts;
    parts.projections.accounts.products.onMore(() => this.tell());
  }

  /** One line, for everybody: of other products it says nothing. Null where it is not so, or not known while the views do not follow the ledger. */
  describe(): string | null {
    const { product } = this.#parts;
    return this.isSo
      ? `the ledger has accounts, and none of the product ${product}, which this gateway serves: every key is unknown here until one is opened, or \`product\` in the configuration is mended`
      : null;
  }

  /** Into the log, each time that it has come to be so, or is over; asked at the start, and of itself with each further product. */
  tell(): void {
    const { product, projections, logger } = this.#parts;
    const { isSo } = this;
    if (isSo === this.#isTold || !projections.isLive) return;
    this.#isTold = isSo;
    if (isSo)
      logger.warn(
        { product, products: projections.accounts.products.names },
        'no account of the ledger is of the product of this configuration: every key is refused here, as one that nobody has, until one is opened; where it is no new product, mend `product` in the configuration',
      );
    else logger.info({ product }, 'the ledger has an account of the product of this configuration by now');
  }

  get isSo(): boolean {
    const { product, projections } = this.#parts;
    return projections.isLive && projections.accounts.otherProducts(product).length > 0;
  }
}

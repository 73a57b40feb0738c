import type { EventLog } from '../../../contracts/event-log.ts';
import { whyDamaged } from '../../../projections/damaged-views.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { knownProducts } from '../known-products.ts';
import { productsInWords } from '../product-words.ts';
import { type Examined, type Found, ok, readingUntilMs, warn } from './finding.ts';

/** Whether there are accounts that a gateway of this configuration serves: misspelt, or forgotten, its `product` shuts out all. */
export async function lookAtProduct(log: EventLog, examined: Examined): Promise<Found> {
  const { product, data } = examined.configuration;
  const { live } = viewFilesOf(data);
  const untilMs = readingUntilMs(examined);
  const found = new Set<string>();
  try {
    for await (const one of knownProducts(log, live)) {
      if (one === product) return ok(`${product}, of which there are accounts`);
      if (one !== null) found.add(one);
      if (performance.now() >= untilMs)
        return warn(`no account of ${product} was found; not all were looked at (give it more --timeout)`);
    }
  } catch (error) {
    return warn(`not looked at: ${whyDamaged(live, error)}`);
  }
  if (found.size === 0) return ok(`${product}; there are no accounts yet`);
  return warn(
    `no account of the ledger is of ${product}, the product of this configuration; there are ${productsInWords(found)}`,
    'mend `product` in the configuration: its gateway refuses every key; of a new product, until its first account is opened, before which no webhook should lead here',
  );
}

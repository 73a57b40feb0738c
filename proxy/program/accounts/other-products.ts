import type { Configuration } from '../../../contracts/configuration.ts';
import { type EventLog, EventLogError } from '../../../contracts/event-log.ts';
import { whyDamaged } from '../../../projections/damaged-views.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import type { CommandContext } from '../command-context.ts';
import { knownProducts } from '../known-products.ts';

/** Nobody waits longer for it. */
const PRODUCTS_LOOK_MS = 2_000;

/** Of which products there are accounts, where none is of this one, as far as that is found in time. */
export async function otherProducts(
  context: CommandContext,
  log: EventLog,
  { product, data }: Pick<Configuration, 'product' | 'data'>,
): Promise<string[]> {
  const { live } = viewFilesOf(data);
  const untilMs = performance.now() + PRODUCTS_LOOK_MS;
  const others = new Set<string>();
  try {
    for await (const one of knownProducts(log, live)) {
      if (one === product || performance.now() >= untilMs) return [];
      if (one !== null) others.add(one);
    }
  } catch (error) {
    if (error instanceof EventLogError) throw error;
    context.warn(`warning: whether there are accounts of ${product} was not looked at: ${whyDamaged(live, error)}\n`);
    return [];
  }
  return [...others];
}

import { FREE_USES } from '../../contracts/outside-input.ts';
import { type RateCard, rateOfUse } from '../../contracts/rate-card.ts';
import type { Ending } from '../../ledger/settlement/request-record.ts';
import type { SeenUsage } from '../meter/seen-usage.ts';

/** Tiers that have a price: standard, and priority, which is standard where nobody asked for it. */
const PRICED_TIERS: ReadonlySet<string> = new Set(['standard', 'priority']);

/**
 * What an answer reported beside its tokens: uses that are billed by the use, and what no price covers. The latter is
 * billed standard, or not at all; what cannot be read is as it was before it was said. An operator looks at both (an exception).
 */
export function extrasOf(seen: SeenUsage, card: RateCard): Pick<Ending, 'uses' | 'unpriced'> {
  const { uses, serviceTier, otherIteration } = seen;
  const used = uses === null ? [] : Object.entries(uses).filter(([, times]) => times > 0);
  const unpriced = used
    .filter(([name]) => !FREE_USES.has(name) && rateOfUse(card, name) === null)
    .map(([name, times]) => `server_tool_use.${name}: ${times}`);
  if (serviceTier !== null && !PRICED_TIERS.has(serviceTier)) unpriced.push(`service_tier: ${serviceTier}`);
  if (otherIteration !== null) unpriced.push(`iterations: ${otherIteration}`);
  unpriced.push(...seen.unread);
  return {
    ...(used.length === 0 ? {} : { uses: Object.fromEntries(used) }),
    ...(unpriced.length === 0 ? {} : { unpriced }),
  };
}

/** Unread usage of what is not charged: an operator looks at it, too. A body that says no usage is none. */
export function unreadOf({ unread }: SeenUsage): Pick<Ending, 'unpriced'> {
  const unpriced = unread.filter((what) => !what.startsWith('body '));
  return unpriced.length === 0 ? {} : { unpriced };
}

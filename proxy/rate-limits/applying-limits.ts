import type { RateLimitSet, RateLimitsConfiguration } from '../../contracts/rate-limits.ts';
import type { OpenAccount } from '../../ledger/account/account-state.ts';
import { hasPaid } from '../../ledger/account/has-paid.ts';
import { planInForce, planNow } from '../../ledger/account/plan-over.ts';
import type { KnownPlans } from '../../ledger/catalog/known-plans.ts';

/** What applies to a caller on this proxy. */
export interface ApplyingLimits {
  readonly account: RateLimitSet;
  readonly key: RateLimitSet;
  /** Among how many proxies the configured limits are divided. */
  readonly proxies: number;
}

/** An account's and its keys' limits: of its plan, by the catalog or the configuration, or by whether it ever paid; divided by proxies, at least one. */
export class LimitsByAccount {
  readonly #configuration: RateLimitsConfiguration;
  /** There are few: one for each set and number of proxies. */
  readonly #divided = new WeakMap<RateLimitSet, Map<number, ApplyingLimits>>();

  readonly #catalog: () => KnownPlans;

  constructor(configuration: RateLimitsConfiguration, catalog: () => KnownPlans) {
    this.#configuration = configuration;
    this.#catalog = catalog;
  }

  /** @param proxies how many serve the account, as far as is known */
  of(account: Pick<OpenAccount, 'plan' | 'grants' | 'billing'>, proxies: number, nowMs: number): ApplyingLimits {
    const { paid, unpaid, plans } = this.#configuration;
    const plan = planNow(account, nowMs);
    const configured = Object.hasOwn(plans, plan) ? plans[plan] : undefined;
    const ofPlan = planInForce(account, this.#catalog(), nowMs)?.rateLimits ?? configured;
    return this.#dividedAmong(
      ofPlan ?? (hasPaid(account) ? paid : unpaid),
      Math.max(proxies, this.#configuration.proxies),
    );
  }

  #dividedAmong(configured: RateLimitSet, proxies: number): ApplyingLimits {
    const ofSet = this.#divided.get(configured) ?? new Map<number, ApplyingLimits>();
    this.#divided.set(configured, ofSet);
    const known = ofSet.get(proxies);
    if (known !== undefined) return known;
    const account = partOf(configured, 1, proxies);
    const made = { account, key: partOf(account, this.#configuration.keyPercent, 100), proxies };
    ofSet.set(proxies, made);
    return made;
  }
}

function partOf(limits: RateLimitSet, part: number, of: number): RateLimitSet {
  const share = (limit: number): number => Math.max(1, Math.floor((limit * part) / of));
  return {
    requestsPerMinute: share(limits.requestsPerMinute),
    inputTokensPerMinute: share(limits.inputTokensPerMinute),
    outputTokensPerMinute: share(limits.outputTokensPerMinute),
    concurrentRequests: share(limits.concurrentRequests),
    concurrentStreams: share(limits.concurrentStreams),
    concurrentCounts: share(limits.concurrentCounts),
  };
}

import { z } from 'zod';
import { text } from './bounded-length.ts';
import { LIMITS } from './limits.ts';
import { withPart } from './whole-and-part.ts';

/** What one account may ask. Each limit has its own count: requests and tokens a minute, calls under way at once. */
export interface RateLimitSet {
  /** Calls of /v1/messages and of count_tokens, whatever the model costs and whatever the answer is. */
  readonly requestsPerMinute: number;
  /** Input that is not read from a cache: as guessed when the request comes, as metered when it has ended. */
  readonly inputTokensPerMinute: number;
  /** As metered when the request has ended. */
  readonly outputTokensPerMinute: number;
  /** Calls of /v1/messages, from their head until their upstream is done: also while their body comes, while they wait, and when their client has left. */
  readonly concurrentRequests: number;
  /** Of those, the ones with `stream: true`. */
  readonly concurrentStreams: number;
  /** Calls of count_tokens, and messages that are counted because only a count shows whether they fit. */
  readonly concurrentCounts: number;
}

/** Hundreds of agents side by side. */
const PAID: RateLimitSet = {
  requestsPerMinute: 12_000,
  inputTokensPerMinute: 200_000_000,
  outputTokensPerMinute: 20_000_000,
  concurrentRequests: 1_000,
  concurrentStreams: 1_000,
  concurrentCounts: 64,
};

/** A few agents. Each request is an event of about 1.1 KB for ever, so 60 a minute are 95 MB a day at the most. */
const UNPAID: RateLimitSet = {
  requestsPerMinute: 60,
  inputTokensPerMinute: 4_000_000,
  outputTokensPerMinute: 400_000,
  concurrentRequests: 16,
  concurrentStreams: 16,
  concurrentCounts: 4,
};

/** Sixty thousand times this, and ten times that, are still exact (proxy/rate-limits/minute-bucket.ts). */
const PER_MINUTE_MAX = 10_000_000_000;
const PROXIES_MAX = 1_000;

const perMinute = z.int().min(1).max(PER_MINUTE_MAX);
const concurrent = z.int().min(1).max(LIMITS.requestsInFlightMax);

const limitsIn = (usual: RateLimitSet) =>
  z
    .strictObject({
      requestsPerMinute: perMinute.default(usual.requestsPerMinute),
      inputTokensPerMinute: perMinute.default(usual.inputTokensPerMinute),
      outputTokensPerMinute: perMinute.default(usual.outputTokensPerMinute),
      concurrentRequests: concurrent.default(usual.concurrentRequests),
      concurrentStreams: concurrent.optional(),
      concurrentCounts: concurrent.default(usual.concurrentCounts),
    })
    .transform(
      withPart('concurrentRequests', 'concurrentStreams', { usual: usual.concurrentStreams, share: 1, least: 1 }),
    );

const limitSet = (usual: RateLimitSet) => limitsIn(usual).prefault({});

/** What a plan of the catalog says; what it leaves out is as for accounts that have paid. */
export const limitsOfPlan = limitsIn(PAID);

/** All of them, as an event carries them. */
export const rateLimitSetField = z.strictObject({
  requestsPerMinute: perMinute,
  inputTokensPerMinute: perMinute,
  outputTokensPerMinute: perMinute,
  concurrentRequests: concurrent,
  concurrentStreams: concurrent,
  concurrentCounts: concurrent,
});

export const rateLimitsSchema = z.strictObject({
  /** Of accounts that ever had credits from a purchase, or from a plan that costs something. */
  paid: limitSet(PAID),
  /** Of all others: on trial, or with credits that were given away, or with nothing. */
  unpaid: limitSet(UNPAID),
  /** By an account's plan where the catalog says nothing of it. What one leaves out is as in `paid`. */
  plans: z
    .record(text, limitSet(PAID))
    .default({})
    .refine((plans) => !Object.hasOwn(plans, 'trial'), {
      path: ['trial'],
      error: 'is what accounts are called that have no plan, whether or not they have paid; say paid or unpaid',
    }),
  /** What one key may take of each of its account's limits, in percent: the rest is always left to the account's others. */
  keyPercent: z.int().min(1).max(100).default(80),
  /** Proxies on one log, at the least: each admits its part of each limit; more where leases show more. */
  proxies: z.int().min(1).max(PROXIES_MAX).default(1),
});

export type RateLimitsConfiguration = z.infer<typeof rateLimitsSchema>;

import { Counter, Gauge, type Registry } from 'prom-client';
import type { Drains } from '../forwarding/drains.ts';
import type { RateLimits } from '../rate-limits/rate-limits.ts';
import type { RequestCounts } from '../request-counts.ts';
import type { UpstreamDirectory } from '../upstream/upstream-directory.ts';

const KINDS = ['message', 'stream', 'count'] as const;
const BOUNDS = [
  { whose: 'account', limit: 'bodyBytes', bound: 'bodyBytes' },
  { whose: 'account', limit: 'bodiesWaiting', bound: 'bodiesWaiting' },
  { whose: 'address', limit: 'concurrentRequests', bound: 'requestsOfAddress' },
] as const;

export interface LimitedParts {
  readonly rateLimits: Pick<RateLimits, 'byRefusal' | 'underWay'>;
  readonly upstreams: Pick<UpstreamDirectory, 'waiting'>;
  readonly drains: Pick<Drains, 'count'>;
  readonly counts: Pick<RequestCounts, 'byBound'>;
}

/** What limits are in callers' ways, and what is under way: no account and no key is named. */
export function measureLimits(registry: Registry, { rateLimits, upstreams, drains, counts }: LimitedParts): void {
  new Counter({
    name: 'gateway_rate_limited_total',
    help: 'Calls that were refused with 429 by a limit or a bound, by whose it was and which',
    labelNames: ['whose', 'limit'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [{ whose, limit }, count] of rateLimits.byRefusal()) this.inc({ whose, limit }, count);
      for (const { whose, limit, bound } of BOUNDS) this.inc({ whose, limit }, counts.byBound(bound));
    },
  });
  new Gauge({
    name: 'gateway_calls_under_way',
    help: 'Calls from their admission until their upstream is done, by kind: message, stream, count',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const kind of KINDS) this.set({ kind }, rateLimits.underWay(kind));
    },
  });
  new Gauge({
    name: 'gateway_calls_waiting',
    help: 'Calls that wait for a connection to their provider',
    registers: [registry],
    collect() {
      this.set(upstreams.waiting);
    },
  });
  new Gauge({
    name: 'gateway_drains',
    help: 'Answers that are read on after their client has left',
    registers: [registry],
    collect() {
      this.set(drains.count);
    },
  });
}

import { Counter, Gauge, type Registry } from 'prom-client';
import type { RateLimits } from '../rate-limits/rate-limits.ts';

const KINDS = ['message', 'stream', 'count'] as const;

/** What limits are in callers' ways, and what is under way: no account and no key is named. */
export function measureLimits(registry: Registry, rateLimits: Pick<RateLimits, 'byRefusal' | 'underWay'>): void {
  new Counter({
    name: 'gateway_rate_limited_total',
    help: 'Calls that were answered with 429, by whose limit it was and which',
    labelNames: ['whose', 'limit'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [{ whose, limit }, count] of rateLimits.byRefusal()) this.inc({ whose, limit }, count);
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
}

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Journal } from '../../ledger/journal/journal.ts';
import type { LogBreaker } from '../../ledger/log-breaker.ts';
import type { Projections } from '../../projections/projections.ts';
import type { Availability } from '../availability.ts';
import type { GatewayClock } from '../clock/gateway-clock.ts';
import type { Holds } from '../holds.ts';
import type { InFlight } from '../in-flight.ts';
import type { LoopDelay } from '../loop-delay.ts';
import type { BodyBudget } from '../request-body/body-budget.ts';
import type { RequestCounts } from '../request-counts.ts';
import type { UnservedModels } from '../unserved-models.ts';
import { type LimitedParts, measureLimits } from './limit-metrics.ts';

/** Where the figures are; each is read when somebody asks for the metrics. */
interface MeasuredParts extends LimitedParts {
  readonly clock: () => number;
  readonly watch: Pick<GatewayClock, 'doubt' | 'jumps' | 'skewMs'>;
  readonly availability: Availability;
  readonly breaker: Pick<LogBreaker, 'isAway'>;
  readonly unserved: Pick<UnservedModels, 'count'>;
  readonly projections: Pick<Projections, 'ageMs' | 'accounts'>;
  readonly journal: Pick<Journal, 'bytes' | 'asideBytes' | 'open' | 'obstacle'>;
  /** Requests that have ended, in this run or an earlier one, and are not in the ledger yet. */
  readonly pending: () => number;
  readonly inFlight: InFlight;
  readonly bodies: BodyBudget;
  readonly loopDelay: LoopDelay;
  readonly holds: Holds;
  readonly counts: RequestCounts;
}

export interface GatewayMetrics {
  readonly registry: Registry;
  /** From the end of a request to its usage and debit in the ledger, in milliseconds. */
  settled(latencyMs: number): void;
}

/** Up to an outage of the length that views may serve through, and beyond. */
const LATENCY_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900];

/**
 * The gateway's metrics. Nothing in them names an account, a key or a request; every label has few values. Counting is
 * not theirs (request-counts.ts): a gauge or counter here asks for its figure when it is collected.
 */
export function gatewayMetrics(parts: MeasuredParts): GatewayMetrics {
  const registry = new Registry();
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name: `gateway_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge(
    'clock_steady',
    '1 while the clock is believed, 0 after a jump of it and while nothing is admitted for that',
    () => (parts.watch.doubt() === null ? 1 : 0),
  );
  gauge(
    'clock_skew_seconds',
    "Ahead of the clock of the event log's server; 0 where that stamps nothing",
    () => parts.watch.skewMs / 1_000,
  );
  gauge('clock_jumps', 'Jumps of the clock since the start', () => parts.watch.jumps);
  const { availability, breaker, projections, journal, pending, inFlight, bodies, holds, clock } = parts;
  gauge('event_log_up', '1 while the event log is in sight, 0 while it is away', () => (breaker.isAway ? 0 : 1));
  gauge('admitting', '1 while requests are admitted, 0 while every new one is refused, or shed', () =>
    availability.isAdmitting ? 1 : 0,
  );
  gauge('healthy', '1 while GET /healthz says so, 0 while it does not', () =>
    availability.unhealthy() === null ? 1 : 0,
  );
  gauge(
    'machine_short',
    '1 while the disk has no room for the journal or the views, or the process no descriptor for the journal',
    () => (availability.shortage() === null ? 0 : 1),
  );
  gauge('fenced', '1 once another process has claimed the name of this one, which admits nothing more', () =>
    availability.isFenced ? 1 : 0,
  );
  // What never held everything is no views yet: infinitely old, and any threshold tells.
  gauge('views_age_seconds', 'How old the views may be; 0 while they follow their feed', () => {
    const ageMs = projections.ageMs(clock());
    return ageMs === null ? Number.POSITIVE_INFINITY : ageMs / 1_000;
  });
  gauge(
    'models_without_provider',
    'Models of the catalog that the configuration has no provider for: every request for them fails',
    () => parts.unserved.count,
  );
  gauge('journal_bytes', 'Bytes of the journal that are still needed', () => journal.bytes);
  gauge(
    'journal_aside_bytes',
    'Bytes of what waits for accounts that are set aside; journal.maxBytes does not count it',
    () => journal.asideBytes,
  );
  gauge('journal_open_requests', 'Requests in the journal that are not settled', () => journal.open);
  gauge('settlements_pending', 'Requests that have ended and are not in the ledger yet', pending);
  gauge(
    'settlements_stuck',
    'Requests that could not be settled since the start: their credit stays held, the log names them',
    () => availability.stuckCount,
  );
  gauge('requests_in_flight', 'Requests that are being relayed', () => inFlight.count);
  const { loopDelay } = parts;
  gauge(
    'event_loop_delay_seconds',
    'How late the event loop was, on the average of the last second',
    () => loopDelay.ms / 1_000,
  );
  gauge('shedding', '1 while new requests are refused because the event loop is behind', () =>
    loopDelay.isBehind ? 1 : 0,
  );
  gauge('body_bytes', 'Bytes of bodies that are kept, of which there may be bodies.maxBytes', () => bodies.bytes);
  gauge('holds', 'Requests that have credit held and are not settled', () => holds.count);
  const exceptions = () => projections.accounts.balance.openExceptions;
  gauge(
    'accounts_set_aside',
    'Accounts that are refused because their events cannot be relied on',
    () => projections.accounts.setAside.count,
  );
  gauge('exceptions_open', 'Requests whose usage waits for an approval or a drop', () => exceptions().count);
  // A sample is a float; `gateway exception list` has the digits.
  gauge('exceptions_open_micro_usd', 'What they would cost, in micro-USD', () => Number(exceptions().amount));
  countRequests(registry, parts.counts);
  measureLimits(registry, parts);
  const latency = new Histogram({
    name: 'gateway_settlement_latency_seconds',
    help: 'From the end of a request to its usage and debit in the ledger',
    buckets: LATENCY_BUCKETS_S,
    registers: [registry],
  });
  collectDefaultMetrics({ register: registry, prefix: 'gateway_' });
  return { registry, settled: (latencyMs) => latency.observe(Math.max(0, latencyMs) / 1_000) };
}

function countRequests(registry: Registry, counts: RequestCounts): void {
  new Counter({
    name: 'gateway_priority_unasked_total',
    help: 'Answers by priority capacity that the request had not asked for, billed at standard prices',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(counts.priorityUnasked);
    },
  });
  new Counter({
    name: 'gateway_shed_total',
    help: 'Requests that were refused because the event loop was behind',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(counts.shed);
    },
  });
  new Counter({
    name: 'gateway_connections_refused_total',
    help: 'Connections that were closed because there were too many in all, or of their source address',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(counts.connectionsRefused);
    },
  });
  new Counter({
    name: 'gateway_requests_total',
    help: 'Answers by HTTP status, without those to /healthz and /readyz; 499 is a client that left before its answer',
    labelNames: ['status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [status, count] of counts.byStatus()) this.inc({ status }, count);
    },
  });
  new Counter({
    name: 'gateway_request_outcomes_total',
    help: 'Requests that went upstream and have ended, by outcome',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [outcome, count] of counts.byOutcome()) this.inc({ outcome }, count);
    },
  });
}

import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { PICO_PER_MICRO } from '../../contracts/money.ts';
import { TOKEN_CLASSES } from '../../contracts/usage.ts';
import type { Journal } from '../../ledger/journal/journal.ts';
import type { LogBreaker } from '../../ledger/log-breaker.ts';
import type { Sealer } from '../../ledger/seals/sealer.ts';
import type { Projections } from '../../projections/projections.ts';
import type { ReloadWaits } from '../admission/reload-waits.ts';
import type { Availability } from '../availability.ts';
import type { GatewayClock } from '../clock/gateway-clock.ts';
import type { Drains } from '../forwarding/drains.ts';
import type { Holds } from '../holds.ts';
import type { InFlight } from '../in-flight.ts';
import type { LoopDelay } from '../loop-delay.ts';
import type { AccessLogPlace } from '../observation/access-log.ts';
import { LatencyBuckets } from '../observation/latency-buckets.ts';
import {
  DURATION_BUCKETS_S,
  FIRST_BYTE_BUCKETS_S,
  type ModelFigures,
  OVERHEAD_BUCKETS_S,
  type RequestFigures,
  type RequestTimes,
} from '../observation/request-figures.ts';
import type { Tracing } from '../observation/tracing.ts';
import type { RateLimits } from '../rate-limits/rate-limits.ts';
import type { BodyBudget } from '../request-body/body-budget.ts';
import type { RequestCounts } from '../request-counts.ts';
import type { UnservedModels } from '../unserved-models.ts';
import type { UnservedProduct } from '../unserved-product.ts';
import type { UpstreamDirectory } from '../upstream/upstream-directory.ts';
import type { ViewsRenewal } from '../views-renewal.ts';
import type { PaymentFigures } from './payment-figures.ts';
import { ReadHistogram } from './read-histogram.ts';

/** Where the figures are; each is read when somebody asks for the metrics. */
export interface MeasuredParts {
  readonly clock: () => number;
  readonly watch: Pick<GatewayClock, 'doubt' | 'jumps' | 'skewMs'>;
  readonly availability: Availability;
  readonly breaker: Pick<LogBreaker, 'isAway'>;
  readonly unserved: Pick<UnservedModels, 'count'>;
  readonly unservedProduct: Pick<UnservedProduct, 'isSo'>;
  readonly projections: Pick<Projections, 'ageMs' | 'accounts'>;
  readonly journal: Pick<Journal, 'bytes' | 'asideBytes' | 'open' | 'obstacle'>;
  /** `journal.maxBytes` of the configuration. */
  readonly journalBytesMax: number;
  /** The data folder. */
  readonly data: string;
  /** Requests that have ended, in this run or an earlier one, and are not in the ledger yet. */
  readonly pending: () => number;
  readonly inFlight: InFlight;
  readonly bodies: BodyBudget;
  readonly loopDelay: LoopDelay;
  readonly holds: Holds;
  readonly counts: RequestCounts;
  readonly rateLimits: Pick<RateLimits, 'byRefusal' | 'underWay'>;
  readonly upstreams: Pick<UpstreamDirectory, 'waiting' | 'waitingAt'>;
  readonly drains: Pick<Drains, 'count'>;
  /** Null where nothing is sealed, for want of a key. */
  readonly sealer: Pick<Sealer, 'standing'> | null;
  /** Null where nobody would rebuild views. */
  readonly renewal: Pick<ViewsRenewal, 'failures'> | null;
  /** Undefined where none is kept. */
  readonly accessLog: Pick<AccessLogPlace, 'lost'> | undefined;
  /** Undefined where nothing is traced. */
  readonly tracing: Pick<Tracing, 'lost'> | undefined;
  readonly figures: Pick<RequestFigures, 'all'>;
  /** Requests that wait for credit to be leased. */
  readonly leaseWaits: () => number;
  /** Those that wait for credits that are being bought. */
  readonly reloadWaits: Pick<ReloadWaits, 'count'>;
  readonly paymentFigures: Pick<PaymentFigures, 'open' | 'asked' | 'webhooks'>;
}

export interface GatewayMetrics {
  readonly registry: Registry;
  /** From the end of a request to its usage and debit in the ledger, in milliseconds. */
  settled(latencyMs: number): void;
}

/** Up to an outage of the length that views may serve through, and beyond. */
const LATENCY_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900];

const KINDS = ['message', 'stream', 'count'] as const;
const BOUNDS = [
  { whose: 'account', limit: 'bodyBytes', bound: 'bodyBytes' },
  { whose: 'account', limit: 'bodiesWaiting', bound: 'bodiesWaiting' },
  { whose: 'address', limit: 'concurrentRequests', bound: 'requestsOfAddress' },
] as const;

/** A figure, or one for each value of the labels. */
type Figure = number | Iterable<readonly [labels: Readonly<Record<string, string | number>>, value: number]>;
type Measures = Readonly<Record<string, readonly [help: string, read: () => Figure, ...labelNames: readonly string[]]>>;

/**
 * The gateway's metrics. Nothing in them names an account, a key or a request; every label has few values. Counting is
 * not theirs (request-counts.ts): a gauge or counter here asks for its figure when it is collected.
 */
export function gatewayMetrics(parts: MeasuredParts): GatewayMetrics {
  const registry = new Registry();
  measure(registry, Gauge, gaugesOf(parts));
  measure(registry, Counter, countersOf(parts));
  measureLatencies(registry, parts.figures);
  measureDisk(registry, parts.data);
  const latency = new LatencyBuckets(LATENCY_BUCKETS_S);
  new ReadHistogram({
    name: 'gateway_settlement_latency_seconds',
    help: 'From the end of a request to its usage and debit in the ledger',
    ...{ registry, labelNames: [], buckets: LATENCY_BUCKETS_S },
    read: () => [[{}, latency]],
  });
  collectDefaultMetrics({ register: registry, prefix: 'gateway_' });
  return { registry, settled: (latencyMs) => latency.add(Math.max(0, latencyMs) / 1_000) };
}

function measure(registry: Registry, Metric: typeof Gauge | typeof Counter, measures: Measures): void {
  for (const [name, [help, read, ...labelNames]] of Object.entries(measures)) {
    const collect = function (this: Gauge | Counter): void {
      const figure = read();
      this.reset();
      for (const [labels, value] of typeof figure === 'number' ? [[{}, figure] as const] : figure)
        this.inc(labels, value);
    };
    new Metric({ name: `gateway_${name}`, help, labelNames, registers: [registry], collect });
  }
}

/** Of the file system that the data folder is on. Where it does not tell there is none to rely on. */
function measureDisk(registry: Registry, folder: string): void {
  const measured = (name: string, help: string, read: (disk: StatsFs) => number): void => {
    new Gauge({
      ...{ name, help, registers: [registry] },
      async collect() {
        this.set(await statfs(folder).then(read, () => 0));
      },
    });
  };
  measured('gateway_disk_bytes', 'Size of the file system of the data folder', ({ blocks, bsize }) => blocks * bsize);
  measured('gateway_disk_free_bytes', 'What of it is free for this process', ({ bavail, bsize }) => bavail * bsize);
}

function measureLatencies(registry: Registry, figures: MeasuredParts['figures']): void {
  const measured = (name: string, help: string, times: keyof RequestTimes, buckets: readonly number[]): void => {
    new ReadHistogram({
      ...{ name, help, registry, labelNames: ['model', 'upstream', 'outcome'], buckets },
      *read() {
        for (const of of figures.all())
          for (const [outcome, taken] of of.times) yield [{ ...labelsOf(of), outcome }, taken[times]];
      },
    });
  };
  measured(
    'gateway_request_duration_seconds',
    "From a request's head to its end, by how it ended: refused is one that no upstream has seen",
    'durations',
    DURATION_BUCKETS_S,
  );
  measured(
    'gateway_time_to_first_byte_seconds',
    "From a request's head to the first byte of its answer's body",
    'firstBytes',
    FIRST_BYTE_BUCKETS_S,
  );
  measured(
    'gateway_overhead_seconds',
    "What the gateway added to the time to the first byte: without the client's and the upstream's own",
    'overheads',
    OVERHEAD_BUCKETS_S,
  );
}

const labelsOf = ({ model, upstream }: ModelFigures) => ({ model, upstream });

function gaugesOf(parts: MeasuredParts): Measures {
  const { availability, breaker, projections, journal, pending, inFlight, bodies, holds, clock, loopDelay, watch } =
    parts;
  const { balance, setAside } = projections.accounts;
  return {
    clock_steady: [
      '1 while the clock is believed, 0 after a jump of it and while nothing is admitted for that',
      () => (watch.doubt() === null ? 1 : 0),
    ],
    clock_skew_seconds: [
      "Ahead of the clock of the event log's server; 0 where that stamps nothing",
      () => watch.skewMs / 1_000,
    ],
    clock_jumps: ['Jumps of the clock since the start', () => watch.jumps],
    event_log_up: ['1 while the event log is in sight, 0 while it is away', () => (breaker.isAway ? 0 : 1)],
    admitting: [
      '1 while requests are admitted, 0 while every new one is refused, or shed',
      () => Number(availability.isAdmitting),
    ],
    healthy: ['1 while GET /healthz says so, 0 while it does not', () => (availability.unhealthy() === null ? 1 : 0)],
    machine_short: [
      '1 while the disk has no room for the journal or the views, or the process no descriptor for the journal',
      () => (availability.shortage() === null ? 0 : 1),
    ],
    fenced: [
      '1 once another process has claimed the name of this one, which admits nothing more',
      () => Number(availability.isFenced),
    ],
    views_rebuilds_failed: [
      'Tries to rebuild the views in this version that were in vain since the start, while those of an earlier one serve; 0 once it is done',
      () => parts.renewal?.failures ?? 0,
    ],
    // What never held everything is no views yet: infinitely old, and any threshold tells.
    views_age_seconds: [
      'How old the views may be; 0 while they follow their source',
      () => (projections.ageMs(clock()) ?? Number.POSITIVE_INFINITY) / 1_000,
    ],
    models_without_provider: [
      'Models of the catalog that the configuration has no provider for: every request for them fails',
      () => parts.unserved.count,
    ],
    product_unserved: [
      '1 while the ledger has accounts, and none of the product that the configuration says: every key is refused',
      () => Number(parts.unservedProduct.isSo),
    ],
    journal_bytes: ['Bytes of the journal that are still needed', () => journal.bytes],
    journal_max_bytes: ['journal.maxBytes: with as many no request is admitted', () => parts.journalBytesMax],
    journal_aside_bytes: [
      'Bytes of what waits for accounts that are set aside; journal.maxBytes does not count it',
      () => journal.asideBytes,
    ],
    journal_open_requests: ['Requests in the journal that are not settled', () => journal.open],
    settlements_pending: ['Requests that have ended and are not in the ledger yet', pending],
    settlements_stuck: [
      'Requests that could not be settled since the start: their credit stays held, the log names them',
      () => availability.stuckCount,
    ],
    requests_in_flight: ['Requests that are being forwarded', () => inFlight.count],
    event_loop_delay_seconds: [
      'How late the event loop was, on the average of the last second',
      () => loopDelay.ms / 1_000,
    ],
    shedding: ['1 while new requests are refused because the event loop is behind', () => Number(loopDelay.isBehind)],
    body_bytes: ['Bytes of bodies that are kept, of which there may be bodies.maxBytes', () => bodies.bytes],
    holds: ['Requests that have credit held and are not settled', () => holds.count],
    accounts_set_aside: ['Accounts that are refused because their events cannot be relied on', () => setAside.count],
    exceptions_open: ['Requests whose usage waits for an approval or a drop', () => balance.openExceptions.count],
    // A sample is a float; `gateway exception list` has the digits.
    exceptions_open_micro_usd: ['What they would cost, in micro-USD', () => Number(balance.openExceptions.amount)],
    calls_under_way: [
      'Calls from their admission until their upstream is done, by kind: message, stream, count',
      () => KINDS.map((kind) => [{ kind }, parts.rateLimits.underWay(kind)] as const),
      'kind',
    ],
    calls_waiting: ['Calls that wait for a connection to their provider', () => parts.upstreams.waiting],
    upstream_calls_waiting: [
      'The same by provider',
      () => [...parts.upstreams.waitingAt()].map(([upstream, count]) => [{ upstream }, count] as const),
      'upstream',
    ],
    lease_waits: ['Requests that wait for credit to be leased', parts.leaseWaits],
    reload_waits: ['Requests that wait for credits that are being bought', () => parts.reloadWaits.count],
    payments_open: [
      'Payments that are begun and not decided, by who takes the money',
      () => parts.paymentFigures.open(clock()).map(({ provider, count }) => [{ provider }, count] as const),
      'provider',
    ],
    payments_open_oldest_seconds: [
      'How long ago the oldest of them was begun; 0 where there is none',
      () =>
        parts.paymentFigures.open(clock()).map(({ provider, oldestMs }) => [{ provider }, oldestMs / 1_000] as const),
      'provider',
    ],
    // A sample is a float, which is exact to some nine thousand million USD.
    held_micro_usd: ['What requests hold that are not settled, in micro-USD', () => Number(holds.amount)],
    seals: [
      'Seals of the ledger, as far as this process has followed them: one more than the number of the newest',
      () => (parts.sealer?.standing().newest?.seal ?? -1) + 1,
    ],
    // Where nothing will seal them, any threshold tells.
    events_unsealed: [
      'Events that were read and no seal covers, of which no more are read than one takes; infinite where nothing is sealed',
      () => {
        const standing = parts.sealer?.standing();
        return standing === undefined || standing.stopped !== null ? Number.POSITIVE_INFINITY : standing.unsealed;
      },
    ],
    drains: ['Answers that are read on after their client has left', () => parts.drains.count],
  };
}

const countersOf = ({ counts, rateLimits, accessLog, tracing, figures, paymentFigures }: MeasuredParts): Measures => ({
  payment_asks_total: [
    'What the payment provider was asked, by whether it has answered; has refused to make a payment, as things are; or failed: it could not be reached, or has refused something else',
    () => paymentFigures.asked().map(([outcome, count]) => [{ outcome }, count] as const),
    'outcome',
  ],
  payment_webhooks_total: [
    "The payment provider's messages by the status that they were answered with: 400 is not proven or cannot be read, 409 refused, 503 to be told again",
    () => paymentFigures.webhooks().map(([status, count]) => [{ status }, count] as const),
    'status',
  ],
  spans_lost_total: ['Spans that were lost, because too many waited or nobody took them', () => tracing?.lost ?? 0],
  tokens_total: [
    'Tokens by class, as they are billed or were reported',
    () =>
      [...figures.all()].flatMap((of) =>
        TOKEN_CLASSES.map((name, at) => [{ ...labelsOf(of), class: name }, of.tokens[at] ?? 0] as const),
      ),
    'model',
    'upstream',
    'class',
  ],
  refusals_total: [
    'Requests that were refused, or whose answer was cut, by the code that the client was told; upstream none where none was called',
    () =>
      [...figures.all()].flatMap((of) =>
        [...of.codes].map(([code, count]) => [{ ...labelsOf(of), code }, count] as const),
      ),
    'model',
    'upstream',
    'code',
  ],
  // Summed exactly; a sample is a float, which is exact to some nine thousand million USD.
  cost_micro_usd_total: [
    'What requests have cost their accounts, in micro-USD',
    () => [...figures.all()].map((of) => [labelsOf(of), Number(of.cost / PICO_PER_MICRO)] as const),
    'model',
    'upstream',
  ],
  access_log_lost_total: [
    'Lines of the access log that were lost, because what takes them was too slow, or gone',
    () => accessLog?.lost ?? 0,
  ],
  priority_unasked_total: [
    'Answers by priority capacity that the request had not asked for, billed at standard prices',
    () => counts.priorityUnasked,
  ],
  shed_total: ['Requests that were refused because the event loop was behind', () => counts.shed],
  connections_refused_total: [
    'Connections that were closed because there were too many in all, or of their source address',
    () => counts.connectionsRefused,
  ],
  requests_total: [
    'Answers by HTTP status, without those to /healthz and /readyz; 499 is a client that left before its answer',
    () => [...counts.byStatus()].map(([status, count]) => [{ status }, count] as const),
    'status',
  ],
  request_outcomes_total: [
    'Requests that went upstream and have ended, by outcome',
    () => [...counts.byOutcome()].map(([outcome, count]) => [{ outcome }, count] as const),
    'outcome',
  ],
  // What limits are in callers' ways: no account and no key is named.
  rate_limited_total: [
    'Calls that were refused with 429 by a limit or a bound, by whose it was and which',
    () => [
      ...[...rateLimits.byRefusal()].map(([{ whose, limit }, count]) => [{ whose, limit }, count] as const),
      ...BOUNDS.map(({ whose, limit, bound }) => [{ whose, limit }, counts.byBound(bound)] as const),
    ],
    'whose',
    'limit',
  ],
});

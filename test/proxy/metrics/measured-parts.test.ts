import { expect, it } from 'vitest';
import { gatewayMetrics, type MeasuredParts } from '../../../proxy/metrics/gateway-metrics.ts';
import { RequestFigures } from '../../../proxy/observation/request-figures.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

/** Each figure is another number, so that none can stand for another. */
const PARTS = {
  clock: () => 1_000_000,
  watch: { doubt: () => null, jumps: 2, skewMs: 3_000 },
  availability: {
    ...{ isAdmitting: true, isFenced: true, stuckCount: 5 },
    ...{ unhealthy: () => null, shortage: () => ({}) },
  },
  breaker: { isAway: false },
  unserved: { count: 7 },
  unservedProduct: { isSo: true },
  projections: {
    ageMs: (nowMs: number) => nowMs - 989_000,
    accounts: { balance: { openExceptions: { count: 13, amount: 17n } }, setAside: { count: 19 } },
  },
  journal: { bytes: 23, asideBytes: 29, open: 31, obstacle: null },
  journalBytesMax: 37,
  pending: () => 41,
  inFlight: { count: 43 },
  bodies: { bytes: 47 },
  loopDelay: { ms: 53_000, isBehind: true },
  holds: { count: 59, amount: 61n },
  counts: {
    ...{ priorityUnasked: 67, shed: 71, connectionsRefused: 73 },
    byBound: (bound: string) => ({ bodyBytes: 79, bodiesWaiting: 83, requestsOfAddress: 89 })[bound],
    byStatus: () => new Map([[200, 97]]),
    byOutcome: () => new Map([['completed', 101]]),
  },
  rateLimits: {
    byRefusal: () => new Map([[{ whose: 'key', limit: 'requestsPerMinute' }, 103]]),
    underWay: (kind: string) => ({ message: 107, stream: 109, count: 113 })[kind],
  },
  upstreams: { waiting: 127, waitingAt: () => new Map([['one', 131]]) },
  drains: { count: 137 },
  sealer: { standing: () => ({ newest: { seal: 138 }, unsealed: 149, stopped: null }) },
  accessLog: { lost: 151 },
  tracing: { lost: 157 },
  figures: new RequestFigures(() => undefined),
  leaseWaits: () => 163,
  reloadWaits: { count: 167 },
  paymentFigures: {
    open: (nowMs: number) => [{ provider: 'stripe', count: 173, oldestMs: nowMs - 821_000 }],
    asked: () => [
      ['answered', 181],
      ['failed', 191],
      ['refused', 197],
    ],
    webhooks: () => [[409, 193]],
  },
};

async function samplesOf(parts: object): Promise<ReadonlyMap<string, string>> {
  const { registry } = gatewayMetrics({ ...PARTS, data: temporaryFolder(), ...parts } as unknown as MeasuredParts);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('gateway_'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
}

it('each metric is the figure of its name', async () => {
  const samples = await samplesOf({});
  const expected = {
    ...{ clock_steady: 1, clock_skew_seconds: 3, clock_jumps: 2, event_log_up: 1, admitting: 1, healthy: 1 },
    ...{ machine_short: 1, fenced: 1, views_age_seconds: 11, models_without_provider: 7, journal_bytes: 23 },
    product_unserved: 1,
    ...{ journal_max_bytes: 37, journal_aside_bytes: 29, journal_open_requests: 31, settlements_pending: 41 },
    ...{ settlements_stuck: 5, requests_in_flight: 43, event_loop_delay_seconds: 53, shedding: 1, body_bytes: 47 },
    ...{ holds: 59, held_micro_usd: 61, accounts_set_aside: 19, exceptions_open: 13, exceptions_open_micro_usd: 17 },
    ...{ 'calls_under_way{kind="message"}': 107, 'calls_under_way{kind="stream"}': 109 },
    ...{ 'calls_under_way{kind="count"}': 113, calls_waiting: 127, 'upstream_calls_waiting{upstream="one"}': 131 },
    ...{ lease_waits: 163, reload_waits: 167, seals: 139, events_unsealed: 149, drains: 137, spans_lost_total: 157 },
    ...{ access_log_lost_total: 151, priority_unasked_total: 67, shed_total: 71, connections_refused_total: 73 },
    ...{ 'requests_total{status="200"}': 97, 'request_outcomes_total{outcome="completed"}': 101 },
    ...{ 'payments_open{provider="stripe"}': 173, 'payments_open_oldest_seconds{provider="stripe"}': 179 },
    ...{ 'payment_asks_total{outcome="answered"}': 181, 'payment_asks_total{outcome="failed"}': 191 },
    'payment_asks_total{outcome="refused"}': 197,
    'payment_webhooks_total{status="409"}': 193,
    'rate_limited_total{whose="key",limit="requestsPerMinute"}': 103,
    'rate_limited_total{whose="account",limit="bodyBytes"}': 79,
    'rate_limited_total{whose="account",limit="bodiesWaiting"}': 83,
    'rate_limited_total{whose="address",limit="concurrentRequests"}': 89,
  };
  for (const [name, value] of Object.entries(expected))
    expect([name, samples.get(`gateway_${name}`)]).toEqual([name, String(value)]);
});

it('what is amiss is 0, or 1, and what never was is beyond any threshold', async () => {
  const amiss = await samplesOf({
    watch: { ...PARTS.watch, doubt: () => 'it has jumped' },
    availability: {
      ...{ isAdmitting: false, isFenced: false, stuckCount: 0 },
      ...{ unhealthy: () => 'the views stand still', shortage: () => null },
    },
    breaker: { isAway: true },
    projections: { ...PARTS.projections, ageMs: () => null },
    loopDelay: { ms: 0, isBehind: false },
    sealer: { standing: () => ({ newest: null, unsealed: 3, stopped: 'another seals' }) },
    ...{ accessLog: undefined, tracing: undefined },
  });
  for (const name of [
    'clock_steady',
    'event_log_up',
    'admitting',
    'healthy',
    'machine_short',
    'fenced',
    'shedding',
    'seals',
  ])
    expect([name, amiss.get(`gateway_${name}`)]).toEqual([name, '0']);
  for (const name of ['access_log_lost_total', 'spans_lost_total']) expect(amiss.get(`gateway_${name}`)).toBe('0');
  for (const name of ['views_age_seconds', 'events_unsealed']) expect(amiss.get(`gateway_${name}`)).toBe('+Inf');
});

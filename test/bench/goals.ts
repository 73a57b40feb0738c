import type { ContenderName } from './contenders/contender.ts';
import type { FeedFigures } from './feed/feed-figures.ts';
import { FEED_CODECS } from './feed/feed-protocol.ts';
import { addedP50Us, type Figure, type Figures, figureFor } from './figures.ts';
import { FLEET_NEWS, type FleetFigure } from './fleet/fleet-figures.ts';
import { costRatio, type FleetCostFigure } from './fleet-cost/fleet-cost-figures.ts';
import { type Goal, worst } from './goal.ts';
import type { HostileFigure } from './hostile/hostile-figures.ts';
import type { ObservedFigure } from './observed/observed-figure.ts';
import type { ChangeFigure } from './rounds/change-figure.ts';
import { type SettlementFigures, settlementFigureFor } from './settlements/settlement-figures.ts';
import type { SettlementLog, SettlementSpread } from './settlements/settlement-protocol.ts';
import { type StreamsFigure, streamsRatio } from './streams/streams-figures.ts';
import { NOTHING_WEIGHED, type WeightFigures } from './weight/weight-figures.ts';
import { WEIGHT_GOALS } from './weight/weight-goals.ts';
import { EVENTS_PER_BILLED_REQUEST, LEDGER_REQUESTS_PER_S, type WorkloadName } from './workloads.ts';

export interface Judgement {
  readonly title: string;
  /** Such as "at most 2x". */
  readonly goal: string;
  /** Such as "1.8x"; null where it was not measured. */
  readonly measured: string | null;
  readonly verdict: 'reached' | 'fell short' | 'not measured';
  /** By how much of the limit it fell short, such as "12%"; null unless it did. */
  readonly by: string | null;
}

const EVENTS_PER_S = LEDGER_REQUESTS_PER_S * EVENTS_PER_BILLED_REQUEST;
/** The last hundredth of the ledger's rate is the clock's, not the gateway's. */
const EVENTS_PER_S_LEAST = EVENTS_PER_S * 0.99;

const GOALS: readonly Goal<Figures>[] = [
  {
    title: 'JSON: CPU per request, ours to the floor',
    bound: 'most',
    limit: 2,
    unit: 'x',
    value: ratio('json', 'cpuUsPerRequest', 'ours', 'floor'),
  },
  {
    title: 'JSON: requests/s, ours to Portkey',
    bound: 'least',
    limit: 6,
    unit: 'x',
    value: ratio('json', 'requestsPerS', 'ours', 'portkey'),
  },
  {
    title: 'burst: CPU per event, ours to the floor',
    bound: 'most',
    limit: 2,
    unit: 'x',
    value: ratio('burst', 'cpuUsPerEvent', 'ours', 'floor'),
  },
  {
    title: 'burst: CPU per event, Portkey to ours',
    bound: 'least',
    limit: 8,
    unit: 'x',
    value: ratio('burst', 'cpuUsPerEvent', 'portkey', 'ours'),
  },
  {
    title: 'paced: CPU per event, ours to the floor',
    bound: 'most',
    limit: 1.15,
    unit: 'x',
    value: ratio('paced', 'cpuUsPerEvent', 'ours', 'floor'),
  },
  {
    title: 'paced: CPU per event, Portkey to ours',
    bound: 'least',
    limit: 2,
    unit: 'x',
    value: ratio('paced', 'cpuUsPerEvent', 'portkey', 'ours'),
  },
  ...addedLatency('latency-json', 'JSON', 2),
  ...addedLatency('latency-stream', 'first byte', 1.5),
  {
    title: 'ledger: events/s appended while serving',
    bound: 'least',
    limit: EVENTS_PER_S_LEAST,
    unit: '/s',
    value: (figures) => figureFor(figures, 'ledger', 'ours')?.ledgerEventsPerS ?? null,
  },
  {
    title: 'ledger: event-loop delay p99',
    bound: 'most',
    limit: 5,
    unit: ' ms',
    value: (figures) => figureFor(figures, 'ledger', 'ours')?.loopDelayP99Ms ?? null,
  },
];

const SETTLEMENT_GOALS: readonly Goal<SettlementFigures>[] = [
  settled('1,000 accounts', 'sqlite', 5_000),
  settled('one hot account', 'sqlite', 1_000),
  settled('one hot account', 'eventstoredb', 1_000),
  settled('1,000 accounts', 'eventstoredb', 5_000),
  {
    title: 'CPU of a settled request, 1,000 accounts, eventstoredb',
    bound: 'most',
    limit: 150,
    unit: ' µs',
    value: (figures) => settlementFigureFor(figures, 'eventstoredb', '1,000 accounts')?.settlerCpuUsPerRequest ?? null,
  },
];

/** Within a second while the log is in reach (What holds, 16). */
const FLEET_GOALS: readonly Goal<readonly FleetFigure[]>[] = FLEET_NEWS.map((news) => ({
  title: `fleet: refused after ${news}`,
  bound: 'most',
  limit: 1_000,
  unit: ' ms',
  value: (figures) => figures.find((figure) => figure.news === news)?.worstMs ?? null,
}));

const FLEET_COST_GOALS: readonly Goal<readonly FleetCostFigure[]>[] = [
  {
    title: 'CPU of a request, three proxies to one, eventstoredb',
    bound: 'most',
    limit: 1.3,
    unit: 'x',
    value: (figures) => costRatio(figures, 'eventstoredb, three proxies', 'eventstoredb, one proxy'),
  },
  {
    title: 'the same, each of the three with as many requests as the one',
    bound: 'most',
    limit: 1.3,
    unit: 'x',
    value: (figures) =>
      costRatio(figures, 'eventstoredb, three proxies', 'eventstoredb, one proxy, a third of the requests'),
  },
];

const OBSERVED_GOALS: readonly Goal<ObservedFigure | null>[] = [
  {
    title: 'access log and metrics: CPU of a request, upper 95% bound',
    bound: 'most',
    limit: 1.05,
    unit: 'x',
    value: (figure) => figure?.upper95 ?? null,
  },
];

/** The path of a request does not grow. */
const CHANGE_GOALS: readonly Goal<readonly ChangeFigure[]>[] = [
  {
    title: 'JSON: CPU per request, ours to before, upper 95% bound',
    bound: 'most',
    limit: 1.05,
    unit: 'x',
    value: (figures) => figures.find(({ workload }) => workload === 'json')?.upper95 ?? null,
  },
];

/** Of the worst kind of body. */
const HOSTILE_GOALS: readonly Goal<readonly HostileFigure[]>[] = [
  {
    title: 'hostile bodies: p99 of a paying client, to alone',
    bound: 'most',
    limit: 2,
    unit: 'x',
    value: (figures) => worst(figures.map(({ p99Ratio }) => p99Ratio)),
  },
  {
    title: 'hostile bodies: longest turn of the event loop, CPU',
    bound: 'most',
    limit: 50,
    unit: ' ms',
    value: (figures) => worst(figures.map(({ turnMaxMs }) => turnMaxMs)),
  },
];

/** What the relay may cost beyond the driver, and views from the topic beyond those from the log. */
const FEED_GOALS: readonly Goal<FeedFigures>[] = [
  ...FEED_CODECS.map(
    (codec): Goal<FeedFigures> => ({
      title: `relay: events/s to kafkajs alone, ${codec}`,
      bound: 'least',
      limit: 0.87,
      unit: 'x',
      value: ({ relayToDriver }) => relayToDriver[codec] ?? null,
    }),
  ),
  {
    title: 'views from nothing: time from the topic to that from the log',
    bound: 'most',
    limit: 1.5,
    unit: 'x',
    value: ({ topicToLog }) => topicToLog,
  },
];

const STREAMS_GOALS: readonly Goal<readonly StreamsFigure[]>[] = [
  {
    title: 'streams held at 20 events/s, ours to the floor',
    bound: 'least',
    limit: 0.8,
    unit: 'x',
    value: (figures) => streamsRatio(figures, 'ours', 'floor'),
  },
];

/** What was measured beside the workloads. */
interface ApartFigures {
  readonly settlements: SettlementFigures;
  readonly observed: ObservedFigure | null;
  readonly fleet: readonly FleetFigure[];
  readonly fleetCost: readonly FleetCostFigure[];
  readonly hostile: readonly HostileFigure[];
  readonly feed: FeedFigures;
  readonly weight: WeightFigures;
  readonly changes: readonly ChangeFigure[];
  readonly streams: readonly StreamsFigure[];
}

/** Each goal with what was measured and whether that reaches it. */
export function judge(figures: Figures, apart: Partial<ApartFigures> = {}): Judgement[] {
  const { settlements = [], fleet = [], fleetCost = [], hostile = [], weight = NOTHING_WEIGHED, streams = [] } = apart;
  const { observed = null, changes = [] } = apart;
  const { feed = { figures: [], relayToDriver: {}, topicToLog: null } } = apart;
  return [
    ...GOALS.map((goal) => judgementOf(goal, figures)),
    ...CHANGE_GOALS.map((goal) => judgementOf(goal, changes)),
    ...SETTLEMENT_GOALS.map((goal) => judgementOf(goal, settlements)),
    ...OBSERVED_GOALS.map((goal) => judgementOf(goal, observed)),
    ...FLEET_GOALS.map((goal) => judgementOf(goal, fleet)),
    ...FLEET_COST_GOALS.map((goal) => judgementOf(goal, fleetCost)),
    ...HOSTILE_GOALS.map((goal) => judgementOf(goal, hostile)),
    ...FEED_GOALS.map((goal) => judgementOf(goal, feed)),
    ...WEIGHT_GOALS.map((goal) => judgementOf(goal, weight)),
    ...STREAMS_GOALS.map((goal) => judgementOf(goal, streams)),
  ];
}

function judgementOf<Measured>({ title, bound, limit, unit, value }: Goal<Measured>, from: Measured): Judgement {
  const goal = `at ${bound} ${rounded(limit)}${unit}`;
  const measured = value(from);
  if (measured === null || Number.isNaN(measured))
    return { title, goal, measured: null, verdict: 'not measured', by: null };
  const text = `${rounded(measured)}${unit}`;
  const isReached = bound === 'most' ? measured <= limit : measured >= limit;
  if (isReached) return { title, goal, measured: text, verdict: 'reached', by: null };
  const by = `${Math.max(1, Math.round((Math.abs(measured - limit) / limit) * 100))}%`;
  return { title, goal, measured: text, verdict: 'fell short', by };
}

type RatioField = 'cpuUsPerRequest' | 'cpuUsPerEvent' | 'requestsPerS';

function ratio(workload: WorkloadName, field: RatioField, over: ContenderName, under: ContenderName) {
  return (figures: Figures): number | null => {
    const value = (name: ContenderName): Figure[RatioField] | undefined => figureFor(figures, workload, name)?.[field];
    const [above, below] = [value(over), value(under)];
    return above === undefined || below === undefined ? null : above / below;
  };
}

function addedLatency(workload: WorkloadName, what: string, floorsMost: number): Goal<Figures>[] {
  const against = (other: ContenderName) => (figures: Figures) => {
    const [ours, others] = [addedP50Us(figures, workload, 'ours'), addedP50Us(figures, workload, other)];
    return ours === null || others === null ? null : ours / others;
  };
  return [
    {
      title: `${what}: added latency p50, ours to the floor`,
      bound: 'most',
      limit: floorsMost,
      unit: 'x',
      value: against('floor'),
    },
    {
      title: `${what}: added latency p50, ours to Portkey`,
      bound: 'most',
      limit: 0.5,
      unit: 'x',
      value: against('portkey'),
    },
  ];
}

function settled(spread: SettlementSpread, log: SettlementLog, limit: number): Goal<SettlementFigures> {
  const value = (figures: SettlementFigures) => settlementFigureFor(figures, log, spread)?.settledPerS ?? null;
  return { title: `settled, ${spread}, ${log}`, bound: 'least', limit, unit: '/s', value };
}

const rounded = (value: number): string => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));

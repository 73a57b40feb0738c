import { expect, test } from 'vitest';
import type { ContenderName } from './contenders/contender.ts';
import { feedFigures } from './feed/feed-figures.ts';
import type { Figure } from './figures.ts';
import { fleetFigures } from './fleet/fleet-figures.ts';
import { judge } from './goals.ts';
import type { SettlementFigure } from './settlements/settlement-figures.ts';
import type { WorkloadName } from './workloads.ts';

const figure = (workload: WorkloadName, contender: ContenderName, values: Partial<Figure>): Figure => ({
  workload,
  contender,
  requestsPerS: Number.NaN,
  eventsPerS: Number.NaN,
  cpuUsPerRequest: Number.NaN,
  cpuUsPerEvent: Number.NaN,
  p50Us: Number.NaN,
  p99Us: Number.NaN,
  rssBytes: 0,
  ledgerEventsPerS: Number.NaN,
  loopDelayP50Ms: Number.NaN,
  loopDelayP99Ms: Number.NaN,
  ...values,
});

const judged = (title: string, ...figures: Figure[]) => judge(figures).find((judgement) => judgement.title === title);

test('a ratio at its limit is reached, above it falls short and says by how much', () => {
  const title = 'JSON: CPU per request, ours to the floor';
  const floor = figure('json', 'floor', { cpuUsPerRequest: 50 });
  expect(judged(title, floor, figure('json', 'ours', { cpuUsPerRequest: 100 }))).toEqual({
    title,
    goal: 'at most 2x',
    measured: '2x',
    verdict: 'reached',
    by: null,
  });
  expect(judged(title, floor, figure('json', 'ours', { cpuUsPerRequest: 120 }))).toMatchObject({
    measured: '2.4x',
    verdict: 'fell short',
    by: '20%',
  });
});

test('a least ratio falls short below its limit', () => {
  const title = 'JSON: requests/s, ours to Portkey';
  const portkey = figure('json', 'portkey', { requestsPerS: 1000 });
  expect(judged(title, portkey, figure('json', 'ours', { requestsPerS: 6000 }))?.verdict).toBe('reached');
  expect(judged(title, portkey, figure('json', 'ours', { requestsPerS: 3000 }))).toMatchObject({
    verdict: 'fell short',
    by: '50%',
  });
});

test('added latency is what is above direct', () => {
  const figures = [
    figure('latency-json', 'direct', { p50Us: 50 }),
    figure('latency-json', 'floor', { p50Us: 150 }),
    figure('latency-json', 'portkey', { p50Us: 850 }),
    figure('latency-json', 'ours', { p50Us: 450 }),
  ];
  expect(judged('JSON: added latency p50, ours to the floor', ...figures)).toMatchObject({
    measured: '4x',
    verdict: 'fell short',
  });
  expect(judged('JSON: added latency p50, ours to Portkey', ...figures)).toMatchObject({
    measured: '0.5x',
    verdict: 'reached',
  });
});

test('the ledger must hold its rate and leave the event loop free', () => {
  const ours = (ledgerEventsPerS: number, loopDelayP99Ms: number) =>
    figure('ledger', 'ours', { ledgerEventsPerS, loopDelayP99Ms });
  const [rate, delay] = ['ledger: events/s appended while serving', 'ledger: event-loop delay p99'];
  expect([rate, delay].map((title) => judged(title, ours(4_999, 2))?.verdict)).toEqual(['reached', 'reached']);
  expect([rate, delay].map((title) => judged(title, ours(4_000, 8))?.verdict)).toEqual(['fell short', 'fell short']);
});

test('settlement is judged by its own figures, each log and spread by itself', () => {
  const settled = (spread: SettlementFigure['spread'], log: SettlementFigure['log'], settledPerS: number) => ({
    ...{ spread, log, settledPerS, requestsPerAppend: 2, p50Us: 1, p99Us: 1 },
    ...{ settlerCpuUsPerRequest: log === 'eventstoredb' ? 1 : 2, settlerCpuUsPerAppend: 1, storeCpuUsPerRequest: 1 },
  });
  const judgements = judge([], {
    settlements: [
      settled('1,000 accounts', 'sqlite', 4_500),
      settled('1,000 accounts', 'eventstoredb', 9_000),
      settled('one hot account', 'eventstoredb', 1_000),
    ],
  });
  const ofSettlements = judgements.filter(({ title }) => title.startsWith('settled'));
  const verdicts = ofSettlements.map(({ verdict, by }) => `${verdict} ${by}`);
  expect(verdicts).toEqual(['fell short 10%', 'not measured null', 'reached null', 'reached null']);
  const ofCpu = judgements.find(({ title }) => title.startsWith('CPU of a settled request'));
  expect(ofCpu?.measured).toBe('1 µs');
});

test('the goals are those of the README', () => {
  expect(judge([]).map(({ title, goal }) => `${title}: ${goal}`)).toEqual([
    'JSON: CPU per request, ours to the floor: at most 2x',
    'JSON: requests/s, ours to Portkey: at least 6x',
    'burst: CPU per event, ours to the floor: at most 2x',
    'burst: CPU per event, Portkey to ours: at least 8x',
    'paced: CPU per event, ours to the floor: at most 1.15x',
    'paced: CPU per event, Portkey to ours: at least 2x',
    'JSON: added latency p50, ours to the floor: at most 2x',
    'JSON: added latency p50, ours to Portkey: at most 0.5x',
    'first byte: added latency p50, ours to the floor: at most 1.5x',
    'first byte: added latency p50, ours to Portkey: at most 0.5x',
    'ledger: events/s appended while serving: at least 4950/s',
    'ledger: event-loop delay p99: at most 5 ms',
    'JSON: CPU per request, ours to before, upper 95% bound: at most 1.05x',
    'settled, 1,000 accounts, sqlite: at least 5000/s',
    'settled, one hot account, sqlite: at least 1000/s',
    'settled, one hot account, eventstoredb: at least 1000/s',
    'settled, 1,000 accounts, eventstoredb: at least 5000/s',
    'CPU of a settled request, 1,000 accounts, eventstoredb: at most 150 µs',
    'access log and metrics: CPU of a request, upper 95% bound: at most 1.05x',
    'fleet: refused after a limit is set: at most 1000 ms',
    'fleet: refused after the account is suspended: at most 1000 ms',
    'fleet: refused after its name is claimed by a copy: at most 1000 ms',
    'CPU of a request, three proxies to one, eventstoredb: at most 1.3x',
    'the same, each of the three with as many requests as the one: at most 1.3x',
    'hostile bodies: p99 of a paying client, to alone: at most 2x',
    'hostile bodies: longest turn of the event loop, CPU: at most 50 ms',
    'relay: events/s to kafkajs alone, gzip: at least 0.87x',
    'relay: events/s to kafkajs alone, zstd: at least 0.87x',
    'views from nothing: time from the topic to that from the log: at most 1.5x',
    'views from nothing: time to that of a bare scan: at most 2x',
    'views from nothing: most that is resident: at most 600 MB',
    'views from nothing: CPU of an event, to that with a tenth of the events: at most 1.1x',
    'rebuild of all views: time to that of a bare scan: at most 2x',
    'rebuild of all views: most that is resident: at most 600 MB',
    "rebuild of all views, eventstoredb: time to that of the adapter's bare readAll: at most 2x",
    'rebuild of all views and its switch: p99 of a paying client beside it, to alone: at most 2x',
    'copy from log to log: events/s, to what the target takes: at least 0.25x',
    "verify: events/s, to the bare scan's: at least 0.333x",
    'verify: CPU of an event without the start, to that with a tenth of the events: at most 1.2x',
    "verify --seals: events/s, to the bare scan's: at least 0.5x",
    'verify --seals: CPU of an event without the start, to that with a tenth of the events: at most 1.2x',
    "export, slowest format: events/s, to the bare scan's: at least 0.25x",
    'export: most that is resident, to that with a quarter of the events: at most 1.25x',
    'one account at an instant: time of its event, to that with a tenth of the events: at most 1.2x',
    'start with views up to date: at most 1.5 s',
    'gateway --help: at most 0.35 s',
    'slowest command: at most 0.6 s',
    'resident memory, idle: at most 130 MB',
    'resident memory at 64 connections, ours to the floor: at most 1.2x',
    'memory of an account that does nothing: at most 1024 bytes',
    'disk of a billed request: at most 1400 bytes',
    'streams held at 20 events/s, ours to the floor: at least 0.8x',
  ]);
});

test('the feed is judged by medians of the ratios within each round', () => {
  const sample = (what: string, round: number, seconds: number) => {
    return { what, round, seconds, events: 1_000, cpuUs: 0, batches: 4, othersShare: 0 };
  };
  // The machine is ten times slower in the second round: within it both are.
  const samples = [1, 10, 1].flatMap((slow, round) => [
    sample('kafkajs, gzip', round, slow),
    sample('relay, gzip', round, slow * ([1, 1.25, 1.3][round] ?? 1)),
    sample('views from the log', round, slow),
    sample('views from the topic', round, slow * 1.4),
  ]);
  const ofFeed = judge([], { feed: feedFigures(samples) }).filter(({ title }) => /^relay|topic/.test(title));
  expect(ofFeed.map(({ verdict, measured }) => `${verdict} ${measured}`)).toEqual([
    'fell short 0.8x',
    'not measured null',
    'reached 1.4x',
  ]);
});

test('what a fleet learns is judged by the slowest of all proxies and times', () => {
  const fleet = fleetFigures([
    { news: 'a limit is set', ms: 20 },
    { news: 'a limit is set', ms: 1_100 },
    { news: 'the account is suspended', ms: 1_000 },
  ]);
  const ofFleet = judge([], { fleet }).filter(({ title }) => title.startsWith('fleet'));
  expect(ofFleet.map(({ verdict, by }) => `${verdict} ${by}`)).toEqual([
    'fell short 10%',
    'reached null',
    'not measured null',
  ]);
});

test('what was not measured is not judged', () => {
  expect(new Set(judge([]).map(({ verdict }) => verdict))).toEqual(new Set(['not measured']));
  expect(
    judged('burst: CPU per event, ours to the floor', figure('burst', 'ours', { cpuUsPerEvent: 1 }))?.verdict,
  ).toBe('not measured');
});

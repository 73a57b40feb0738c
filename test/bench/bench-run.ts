import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { GATEWAY_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { nodeFlagsOf } from '../fixtures/processes/node-flags.ts';
import type { Processes } from '../fixtures/processes/processes.ts';
import { FLOOR_FLAGS } from './contenders/floor.ts';
import { profileReport } from './cpu-profile.ts';
import { measureFeed } from './feed/feed-bench.ts';
import { type FeedSample, feedFigures, feedReport } from './feed/feed-figures.ts';
import { type Figure, figureFor } from './figures.ts';
import { measureFleet } from './fleet/fleet-bench.ts';
import { type FleetFigure, fleetFigures, fleetReport } from './fleet/fleet-figures.ts';
import { measureFleetCost } from './fleet-cost/fleet-cost-bench.ts';
import { type FleetCostSample, fleetCostFigures, fleetCostReport } from './fleet-cost/fleet-cost-figures.ts';
import { judge } from './goals.ts';
import { measureHostile } from './hostile/hostile-bench.ts';
import { type HostileFigure, hostileFigures, hostileReport } from './hostile/hostile-figures.ts';
import { median } from './load/latencies.ts';
import type { Sample } from './measure.ts';
import { measureObserved } from './observed/observed-bench.ts';
import { observedFigure, observedReport } from './observed/observed-figure.ts';
import type { Options } from './options.ts';
import { machineUse, othersShareOf } from './process-usage.ts';
import { goalsReport } from './report.ts';
import { controlText, isTooWide } from './rounds/ratio-figure.ts';
import { say } from './say.ts';
import { sealingFigure, sealingReport } from './settlements/sealing-figure.ts';
import { measureSealing, measureSettlements } from './settlements/settlement-bench.ts';
import { type SettlementSample, settlementFigures, settlementReport } from './settlements/settlement-figures.ts';
import { measureAt } from './weight/at-bench.ts';
import { measureCopy } from './weight/copy-bench.ts';
import { copyFigure, copyReport } from './weight/copy-figure.ts';
import { measureDisk } from './weight/disk-bench.ts';
import { measureExport } from './weight/export-bench.ts';
import { measureMemory } from './weight/memory-bench.ts';
import { measureRebuild } from './weight/rebuild-bench.ts';
import { measureRebuildBeside } from './weight/rebuild-beside.ts';
import { besideFigure, besideReport, rebuildFigures, rebuildReport } from './weight/rebuild-figure.ts';
import { measureReplay } from './weight/replay-bench.ts';
import { measureVerify } from './weight/verify-bench.ts';
import {
  atFigure,
  atReport,
  exportReport,
  memoryReport,
  replayFigures,
  replayReport,
  startFigures,
  startReport,
  verifyReport,
  type WeightFigures,
} from './weight/weight-figures.ts';
import { runWorkloads } from './workload-run.ts';

/** Below this many times ours, direct says that the load or the upstream was the limit. */
const DIRECT_TO_OURS_LEAST = 4;
/** Cores that other work may take before the figures are called doubtful. */
const OTHERS_SHARE_MOST = 0.25;
/** What an event of a stream may take without a proxy until what is added says little. */
const BARE_P99_MS_MOST = 5;

/** Starts the contenders, measures them workload by workload, and prints figures, goals and doubts. */
export async function runBench(options: Options, processes: Processes): Promise<void> {
  const startedMs = Date.now();
  say(`node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model}), requests of ${options.body} size`);
  say(`Node's options: ours ${nodeFlagsOf(GATEWAY_PROGRAM).join(' ')}; the floor ${FLOOR_FLAGS.join(' ')}`);
  say(`${options.rounds} rounds of ${options.windowMs} ms, ${options.warmUpMs} ms of warm-up for Node contenders\n`);
  // First, while none of the contenders takes memory or time.
  const settlements = options.settlements ? await runSettlements(options, processes) : [];
  const sealing = options.sealing ? sealingFigure(await measureSealing(processes, options)) : null;
  if (sealing !== null) say(sealingReport(sealing));
  const observedRounds = options.observed ? await measureObserved(processes, options) : [];
  const observed = observedRounds.length === 0 ? null : observedFigure(observedRounds);
  if (observed !== null) say(observedReport(observed));
  const fleet = options.fleet ? await runFleet(processes) : [];
  const fleetCost = options.fleetCost ? await runFleetCost(options, processes) : [];
  const hostile = options.hostile ? await runHostile(options, processes) : [];
  const feed = options.feed ? await runFeed(options, processes) : [];
  const feedFigured = feedFigures(feed);
  const beforeWeight = machineUse();
  const weight = await runWeight(options, processes);
  const afterWeight = machineUse();
  const { figures, samples, changes, streams } = await runWorkloads(options, processes);
  const settlementFigured = settlementFigures(settlements);
  const fleetCostFigured = fleetCostFigures(fleetCost);
  const apart = {
    settlements: settlementFigured,
    sealing,
    observed,
    fleet,
    fleetCost: fleetCostFigured,
    hostile,
    feed: feedFigured,
    weight,
    changes,
    streams,
  };
  const judgements = judge(figures, apart);
  say(goalsReport(judgements));
  for (const doubt of doubtsOf(figures, [
    ...samples,
    ...observedRounds.flatMap(({ alone }) => [...alone.values()]),
    ...settlements,
    ...fleetCost,
  ]))
    say(`doubtful: ${doubt}`);
  for (const figure of [...changes, ...(observed === null ? [] : [observed])])
    if (isTooWide(figure)) say(`doubtful: chance goes as far as what is to be told: ${controlText(figure)}`);
  // Otherwise nothing was weighed.
  if (afterWeight.seconds - beforeWeight.seconds > 1)
    for (const doubt of othersDoubt(othersShareOf(beforeWeight, afterWeight))) say(`doubtful: weight: ${doubt}`);
  if (streams.some(({ bareP99Ms }) => bareP99Ms > BARE_P99_MS_MOST))
    say(`doubtful: streams: also without a proxy events are more than ${BARE_P99_MS_MOST} ms late`);
  say(`took ${((Date.now() - startedMs) / 1000).toFixed(0)} s`);
  if (options.jsonFile === null) return;
  const all = { options, figures, ...apart, judgements, samples };
  writeFileSync(options.jsonFile, `${JSON.stringify(all, null, 2)}\n`);
}

async function runFleet(processes: Processes): Promise<FleetFigure[]> {
  const figures = fleetFigures(await measureFleet(processes));
  say(fleetReport(figures));
  return figures;
}

async function runFleetCost(options: Options, processes: Processes): Promise<FleetCostSample[]> {
  const samples = await measureFleetCost(processes, options);
  say(fleetCostReport(fleetCostFigures(samples)));
  return samples;
}

async function runHostile(options: Options, processes: Processes): Promise<HostileFigure[]> {
  const figures = hostileFigures(await measureHostile(processes, options));
  say(hostileReport(figures));
  return figures;
}

async function runFeed(options: Options, processes: Processes): Promise<FeedSample[]> {
  const profileFolder = join(processes.folder, 'feed-profiles');
  const samples = await measureFeed(processes, options, profileFolder);
  if (samples === null) {
    say('the feed is not measured: no KAFKA_BROKERS, and no npm run kafka\n');
    return [];
  }
  say(feedReport(feedFigures(samples)));
  if (options.profile) say(profileReport(profileFolder));
  return samples;
}

async function runSettlements(options: Options, processes: Processes): Promise<SettlementSample[]> {
  const profileFolder = options.profile ? join(processes.folder, 'settler-profiles') : null;
  const samples = await measureSettlements(processes, options, profileFolder);
  say(settlementReport(settlementFigures(samples)));
  if (profileFolder !== null) say(profileReport(profileFolder));
  return samples;
}

async function runWeight(options: Options, processes: Processes): Promise<WeightFigures> {
  const { replays, starts } =
    options.replay || options.start ? await measureReplay(processes, options) : { replays: [], starts: [] };
  const figures = { replays: replayFigures(replays), starts: startFigures(starts) };
  if (options.replay) say(replayReport(figures.replays));
  if (options.start) say(startReport(figures.starts, options.events));
  const rebuilds = options.rebuild ? rebuildFigures(await measureRebuild(processes, options)) : [];
  say(rebuildReport(rebuilds));
  const besideRebuild = options.rebuild ? besideFigure(await measureRebuildBeside(processes, options)) : null;
  if (besideRebuild !== null) say(besideReport(besideRebuild));
  const copy = options.copy ? copyFigure(await measureCopy(processes, options)) : null;
  if (copy !== null) say(copyReport(copy));
  const { verify: verifies, seals } = options.verify
    ? await measureVerify(processes, options)
    : { verify: [], seals: [] };
  say(verifyReport(verifies) + verifyReport(seals, 'verify --seals'));
  const exports = options.export ? await measureExport(processes, options) : [];
  say(exportReport(exports));
  const at = options.at ? atFigure(await measureAt(processes, options)) : null;
  if (at !== null) say(atReport(at));
  const memory = options.memory ? await measureMemory(processes, options) : null;
  if (memory !== null) say(memoryReport(memory));
  const diskBytesPerRequest = options.disk ? await measureDisk(processes, options) : null;
  if (diskBytesPerRequest !== null) say(`disk: ${diskBytesPerRequest.toFixed(0)} bytes a billed request\n`);
  return { ...figures, rebuilds, besideRebuild, copy, verifies, seals, exports, at, memory, diskBytesPerRequest };
}

/** What the reader should know before believing the figures. */
function doubtsOf(figures: readonly Figure[], all: readonly (Sample | SettlementSample | FleetCostSample)[]): string[] {
  const samples = all.filter((sample) => 'workload' in sample);
  const doubts: string[] = [];
  const ours = figureFor(figures, 'json', 'ours');
  const upper = figureFor(figures, 'json', 'direct');
  if (ours !== null && upper !== null && upper.requestsPerS < DIRECT_TO_OURS_LEAST * ours.requestsPerS)
    doubts.push(
      `direct is only ${(upper.requestsPerS / ours.requestsPerS).toFixed(1)}x ours in requests/s: the load may be the limit of requests/s (not of CPU per request)`,
    );
  for (const { workload, contender, loadShare, upstreamShare } of samples)
    if (contender === 'ours' && loadShare + upstreamShare > 0.9)
      doubts.push(`${workload}: load generator and upstream used a whole core while ours was measured`);
  doubts.push(...othersDoubt(median(all.map(({ othersShare }) => othersShare))));
  return [...new Set(doubts)];
}

const othersDoubt = (share: number): string[] =>
  share > OTHERS_SHARE_MOST ? [`other work on this machine took ${share.toFixed(1)} cores meanwhile`] : [];

import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { LoadGenerator } from '../load-generator.ts';
import type { Options } from '../options.ts';
import { machineCpuUs, usageOf } from '../process-usage.ts';
import { requestBody, requestText } from '../request-body.ts';
import { type BenchFleet, startFleet } from './bench-fleet.ts';
import { FLEETS, type FleetCostSample, type FleetName } from './fleet-cost-figures.ts';

/**
 * All proxies of a fleet together: below what two cores carry for three of them, the event store, the load and the upstream.
 * As many as can be would starve one of the proxies, and a starved one answers 529; with few each event wakes each proxy by
 * itself, which measures the waking.
 * Connections are each proxy's: each sends for one account, and fewer than there are accounts would leave some of them out.
 */
const LOAD = { connections: 200, requestsPerS: 600 };
/** The load is shared by a fleet, and each of its processes has as much code to compile as one alone. */
const WARM_UPS_PER_PROXY = 1.5;
/** A window in which a proxy was starved by other work on the machine is measured again so often. */
const TRIES_MAX = 4;
const PAUSE_MS = 3_000;

export type FleetCostTimes = Pick<Options, 'rounds' | 'warmUpMs' | 'settleMs' | 'windowMs'>;

interface Scene {
  readonly fleets: readonly BenchFleet[];
  readonly loads: readonly LoadGenerator[];
  readonly upstreamPid: number;
  readonly times: FleetCostTimes;
}

/** What a request costs each fleet in CPU time of its proxies, in turns: only one has requests at a time. */
export async function measureFleetCost(processes: Processes, times: FleetCostTimes): Promise<FleetCostSample[]> {
  const upstream = processes.fork('fleet-upstream', new URL('../fast-upstream/main.ts', import.meta.url));
  const [{ port }] = await once(upstream, 'message');
  const fleets: BenchFleet[] = [];
  for (const name of Object.keys(FLEETS) as FleetName[]) fleets.push(await startFleet(processes, name, port));
  const most = Math.max(...fleets.map(({ ports }) => ports.length));
  const loads = Array.from({ length: most }, (_, index) => new LoadGenerator(processes, `fleet-load-${index}`));
  const scene: Scene = { fleets, loads, upstreamPid: upstream.pid ?? 0, times };
  for (const fleet of fleets)
    await underLoad(scene, fleet, () => setTimeout(times.warmUpMs * WARM_UPS_PER_PROXY * fleet.ports.length));
  const samples: FleetCostSample[] = [];
  for (let round = 0; round < times.rounds; round++)
    for (const fleet of round % 2 === 0 ? fleets : fleets.toReversed())
      samples.push(await measureInTries(scene, fleet));
  for (const { processNames } of fleets) for (const name of processNames) await processes.stop(name);
  for (const index of loads.keys()) await processes.stop(`fleet-load-${index}`);
  await processes.stop('fleet-upstream');
  return samples;
}

/** @throws Error when something was refused in every try */
async function measureInTries(scene: Scene, fleet: BenchFleet): Promise<FleetCostSample> {
  for (let tries = 1; ; tries++) {
    try {
      return await measure(scene, fleet);
    } catch (error) {
      if (tries === TRIES_MAX) throw error;
      process.stderr.write(`fleet-cost: ${fleet.name} is measured again: ${String(error)}\n`);
      await setTimeout(PAUSE_MS);
    }
  }
}

function measure(scene: Scene, fleet: BenchFleet): Promise<FleetCostSample> {
  const { times, upstreamPid } = scene;
  return underLoad(scene, fleet, async (loads) => {
    await setTimeout(times.settleMs);
    await Promise.all(loads.map((load) => load.mark()));
    const cpuUs = () => ({
      proxies: usageOf(fleet.pids).cpuUs,
      store: usageOf(fleet.storePids).cpuUs,
      bench: usageOf([upstreamPid, ...loads.map(({ pid }) => pid)]).cpuUs,
      machine: machineCpuUs(),
    });
    const before = cpuUs();
    await setTimeout(times.windowMs);
    const after = cpuUs();
    const windows = await Promise.all(loads.map((load) => load.read()));
    const proxiesCpuUs = after.proxies - before.proxies;
    const storeCpuUs = after.store - before.store;
    const othersUs = after.machine - before.machine - proxiesCpuUs - storeCpuUs - (after.bench - before.bench);
    return {
      fleet: fleet.name,
      requests: windows.reduce((sum, { requests }) => sum + requests, 0),
      proxiesCpuUs,
      storeCpuUs,
      othersShare: Math.max(0, othersUs) / (times.windowMs * 1000),
    };
  });
}

/** A load for each proxy of a fleet, of an equal part of the same requests/s; each proxy serves every account. */
async function underLoad<Result>(
  { loads }: Scene,
  { name, ports, keys }: BenchFleet,
  work: (loads: readonly LoadGenerator[]) => Promise<Result>,
): Promise<Result> {
  const body = requestBody('json', 'small');
  const used = loads.slice(0, ports.length);
  try {
    for (const [index, load] of used.entries()) {
      const port = ports[index] ?? 0;
      await load.start({
        port,
        requests: keys.map((key) => requestText({ port, headers: { 'x-api-key': key } }, body)),
        connections: LOAD.connections,
        eventsPerAnswer: 0,
        countsEventsAsTheyCome: false,
        requestsPerS: (LOAD.requestsPerS * FLEETS[name].shareOfRequests) / ports.length,
      });
    }
    return await work(used);
  } finally {
    for (const load of used) await load.stop();
  }
}

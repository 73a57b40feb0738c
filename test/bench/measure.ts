import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { Contender, ContenderName } from './contenders/contender.ts';
import type { Ours } from './contenders/ours.ts';
import type { EventLoopDelay } from './event-loop-probe.ts';
import type { Window } from './load/load-protocol.ts';
import type { LoadGenerator } from './load-generator.ts';
import type { Options } from './options.ts';
import { machineCpuUs, usageOf } from './process-usage.ts';
import { requestBody, requestText } from './request-body.ts';
import { WORKLOADS, type Workload, type WorkloadName } from './workloads.ts';

const PROBE_MS_MAX = 5_000;

/** What one window of one contender showed. */
export interface Sample {
  readonly workload: WorkloadName;
  readonly contender: ContenderName;
  readonly round: number;
  readonly window: Window;
  /** CPU time of the contender's processes within the window; 0 for direct. */
  readonly cpuUs: number;
  readonly rssBytes: number;
  /** Shares of one core that the benchmark's own processes took: near 1 they are the limit, not the contender. */
  readonly loadShare: number;
  readonly upstreamShare: number;
  /** The same of everything else on the machine: work that has nothing to do with the benchmark. */
  readonly othersShare: number;
  readonly ledger: LedgerSample | null;
}

interface LedgerSample {
  readonly eventsPerS: number;
  readonly delay: EventLoopDelay;
}

export interface Bench {
  readonly load: LoadGenerator;
  readonly upstreamPid: number;
  readonly options: Options;
}

export async function warmUp({ load, options }: Bench, contender: Contender, workload: WorkloadName): Promise<void> {
  await load.start(loadOf(contender, WORKLOADS[workload], options));
  await setTimeout(options.warmUpMs);
  await load.read();
  await load.stop();
}

/** Puts a contender under load for one window. @throws Error when an answer of it was not 200. */
export async function measure(
  { load, upstreamPid, options }: Bench,
  contender: Contender,
  name: WorkloadName,
  round: number,
): Promise<Sample> {
  await load.start(loadOf(contender, WORKLOADS[name], options));
  await setTimeout(options.settleMs);
  const ledger = name === 'ledger' && isOurs(contender) ? await startLedgerWindow(contender) : null;
  await load.mark();
  const before = [contender.pids, [load.pid], [upstreamPid]].map(usageOf);
  const machineBefore = machineCpuUs();
  await setTimeout(options.windowMs);
  const machineUs = machineCpuUs() - machineBefore;
  const after = [contender.pids, [load.pid], [upstreamPid]].map(usageOf);
  const window = await load.read();
  const ledgerSample = ledger === null ? null : await ledger.end();
  await load.stop();
  const cpuUs = (index: number) => (after[index]?.cpuUs ?? 0) - (before[index]?.cpuUs ?? 0);
  return {
    workload: name,
    contender: contender.name,
    round,
    window,
    cpuUs: cpuUs(0),
    rssBytes: after[0]?.rssBytes ?? 0,
    loadShare: cpuUs(1) / (window.seconds * 1_000_000),
    upstreamShare: cpuUs(2) / (window.seconds * 1_000_000),
    othersShare: Math.max(0, machineUs - cpuUs(0) - cpuUs(1) - cpuUs(2)) / (window.seconds * 1_000_000),
    ledger: ledgerSample,
  };
}

export function loadOf(contender: Contender, workload: Workload, { body }: Pick<Options, 'body'>) {
  return {
    port: contender.port,
    requests: contender.headers.map((headers) =>
      requestText({ port: contender.port, headers }, requestBody(workload.answer, body)),
    ),
    connections: workload.connections,
    eventsPerAnswer: workload.eventsPerAnswer,
    countsEventsAsTheyCome: workload.answer === 'paced',
    requestsPerS: workload.requestsPerS,
  };
}

const isOurs = (contender: Contender): contender is Ours => 'eventsInLedger' in contender;

async function startLedgerWindow(ours: Ours): Promise<{ end(): Promise<LedgerSample> }> {
  await readDelay(ours);
  const eventsBefore = ours.eventsInLedger();
  const startedMs = performance.now();
  return {
    end: async () => {
      const seconds = (performance.now() - startedMs) / 1000;
      const eventsPerS = (ours.eventsInLedger() - eventsBefore) / seconds;
      return { eventsPerS, delay: await readDelay(ours) };
    },
  };
}

/** Asks the probe for what it has since it was last asked. @throws Error when it says nothing for 5 s. */
export async function readDelay({ process, probeFile }: Ours): Promise<EventLoopDelay> {
  const known = readProbe(probeFile)?.sequence ?? 0;
  process.kill('SIGUSR2');
  const deadline = Date.now() + PROBE_MS_MAX;
  while (Date.now() < deadline) {
    const delay = readProbe(probeFile);
    if (delay !== null && delay.sequence > known) return delay;
    await setTimeout(10);
  }
  throw new Error('the event-loop probe does not answer');
}

function readProbe(file: string): EventLoopDelay | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    // The probe has not been asked before.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

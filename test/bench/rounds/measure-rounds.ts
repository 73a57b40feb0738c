import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Processes } from '../../fixtures/processes/processes.ts';
import type { Contender } from '../contenders/contender.ts';
import type { Ours } from '../contenders/ours.ts';
import { type Cores, pin } from '../cores.ts';
import { LoadGenerator } from '../load-generator.ts';
import { type Bench, measure, type Sample, warmUp } from '../measure.ts';
import { WORKLOADS, type WorkloadName } from '../workloads.ts';
import { type CostSample, type Loaded, measureTogether } from './measure-together.ts';
import { costOf } from './ratio-figure.ts';

/** What is compared: a contender that is there for all rounds, or a gateway of which each round has a new process. */
export type Compared =
  | { readonly type: 'lasting'; readonly contender: Contender }
  | { readonly type: 'fresh'; start(folder: string): Promise<Ours> };

/** What one round has shown, by the names of what is compared. */
export interface MeasuredRound<Name> {
  /** Each alone, in turns. */
  readonly alone: ReadonlyMap<Name, Sample>;
  /** Those whose processes are new, all at once. */
  readonly together: ReadonlyMap<Name, CostSample>;
}

interface RoundsOf<Name> {
  readonly processes: Processes;
  /** Begins the names of the folders of what is fresh. */
  readonly called: string;
  readonly cores: Cores | null;
  readonly compared: ReadonlyMap<Name, Compared>;
  readonly workload: WorkloadName;
}

/**
 * Load of a new process before its first window, in times of the usual warm-up, all of them at once: none is further than the
 * others, however busy the machine is. At 20,000 requests the engine's compilers still take a third of a request's CPU, more of
 * whatever is more code; at 50,000 a tenth.
 */
const FRESH_WARM_UPS = 1.5;
/** On a slow machine one of that length is too short (`warmUpRequests`): so many at most. */
const FRESH_WARM_UPS_MAX = 4;
/** Where processes are new, the window of each alone is a part of the usual one. */
const FRESH_WINDOW_PART = 0.5;
/** The window of all together is that of so many alone: the large collections of garbage, a few a process, are to be in all of them. */
const TOGETHER_WINDOWS = 5;

/**
 * Interleaved rounds. Two processes of one program differ for as long as they live (where their memory came to lie, what was
 * compiled when), and no number of windows of the same two takes that out: where a few percent are looked for, what varies
 * independently is the process, and each round has new ones. All of them are warmed up and measured together, and
 * then each alone. Which begins goes round, so that whatever drifts meets all of them.
 */
export async function measureRounds<Name>(bench: Bench, of: RoundsOf<Name>): Promise<MeasuredRound<Name>[]> {
  const names = [...of.compared.keys()];
  const fresh = [...of.compared.values()].filter(({ type }) => type === 'fresh');
  const loads = fresh.map((_, index) => new LoadGenerator(of.processes, loadName(of, index)));
  if (of.cores !== null) for (const { pid } of loads) pin([pid], of.cores.load);
  const rounds: MeasuredRound<Name>[] = [];
  for (let round = 0; round < bench.options.rounds; round++)
    rounds.push(await measureRound(bench, of, { round, order: orderOf(names, round), loads }));
  for (const index of loads.keys()) await of.processes.stop(loadName(of, index));
  return rounds;
}

const loadName = <Name>({ called }: RoundsOf<Name>, index: number): string => `${called}-load-${index}`;

/** Each begins as often as the others, and each order comes in both directions. */
export function orderOf<Name>(names: readonly Name[], round: number): readonly Name[] {
  const first = Math.floor(round / 2) % Math.max(1, names.length);
  const turned = [...names.slice(first), ...names.slice(0, first)];
  return round % 2 === 0 ? turned : turned.toReversed();
}

interface Round<Name> {
  readonly round: number;
  readonly order: readonly Name[];
}

interface Started<Name> {
  readonly name: Name;
  readonly contender: Contender;
  /** Of a new process; null for what is there for all rounds. */
  readonly folder: string | null;
}

async function measureRound<Name>(
  bench: Bench,
  of: RoundsOf<Name>,
  { loads, ...turn }: Round<Name> & { readonly loads: readonly LoadGenerator[] },
): Promise<MeasuredRound<Name>> {
  const { workload, processes } = of;
  const { options } = bench;
  const started = await startRound(bench, of, turn);
  const fresh = started.filter(({ folder }) => folder !== null);
  const loaded = loads.flatMap((load, index) => {
    const one = fresh[index];
    return one === undefined ? [] : [{ load, contender: one.contender }];
  });
  const together = new Map<Name, CostSample>();
  if (loaded.length > 0) {
    await warmUpTogether(loaded, bench, workload);
    const costs = await measureTogether(loaded, { workload, options, windowMs: options.windowMs * TOGETHER_WINDOWS });
    for (const [index, cost] of costs.entries())
      for (const { name } of fresh.slice(index, index + 1)) together.set(name, cost);
  }
  const windowMs = options.windowMs * (loaded.length === 0 ? 1 : FRESH_WINDOW_PART);
  const alone = new Map<Name, Sample>();
  for (const { name, contender } of started)
    alone.set(name, await measure({ ...bench, options: { ...options, windowMs } }, contender, workload, turn.round));
  await endRound(processes, fresh);
  if (together.size > 0)
    process.stderr.write(
      `${of.called}: ${turn.round + 1} of ${options.rounds} rounds: ${inOneLine(together, workload)}\n`,
    );
  return { alone, together };
}

/** What is left of a run that is broken off. */
const inOneLine = <Name>(together: ReadonlyMap<Name, CostSample>, workload: WorkloadName): string =>
  [...together].map(([name, cost]) => `${name} ${costOf(cost, WORKLOADS[workload].per).toFixed(1)} us`).join(', ');

async function warmUpTogether(loaded: readonly Loaded[], { options }: Bench, workload: WorkloadName): Promise<void> {
  const windowMs = options.warmUpMs * FRESH_WARM_UPS * loaded.length;
  let fewest = 0;
  for (let times = 0; times === 0 || (times < FRESH_WARM_UPS_MAX && fewest < options.warmUpRequests); times++) {
    const costs = await measureTogether(loaded, { workload, options, windowMs });
    fewest += Math.min(...costs.map(({ window }) => window.requests));
  }
}

async function endRound<Name>(processes: Processes, fresh: readonly Started<Name>[]): Promise<void> {
  const folders = fresh.flatMap(({ folder }) => (folder === null ? [] : [folder]));
  await Promise.all(folders.map((folder) => processes.stop(folder)));
  // Ledgers of all rounds would be many gigabytes; profiles stay.
  for (const folder of folders) rmSync(join(processes.folder, folder, 'data'), { recursive: true, force: true });
}

async function startRound<Name>(
  bench: Bench,
  { called, cores, compared, workload }: RoundsOf<Name>,
  { round, order }: Round<Name>,
): Promise<Started<Name>[]> {
  const started = await Promise.all(
    order.map(async (name, place): Promise<Started<Name>> => {
      const one = compared.get(name);
      if (one === undefined) throw new Error('whatever has a place in a round is compared');
      if (one.type === 'lasting') return { name, contender: one.contender, folder: null };
      // Of one length, whatever is started there: the names are part of what a process finds in its memory.
      const folder = `${called}-${String(round).padStart(2, '0')}-${place}`;
      return { name, contender: await one.start(folder), folder };
    }),
  );
  if (cores !== null) for (const { contender } of started) pin(contender.pids, cores.measured);
  // What is new is warmed up all at once.
  for (const { contender, folder } of started)
    if (contender.needsWarmUp && folder === null && round === 0) await warmUp(bench, contender, workload);
  return started;
}

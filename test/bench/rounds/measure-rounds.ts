import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Processes } from '../../fixtures/processes/processes.ts';
import type { Contender } from '../contenders/contender.ts';
import type { Ours } from '../contenders/ours.ts';
import { type Cores, pin } from '../cores.ts';
import { type Bench, measure, type Sample, warmUp } from '../measure.ts';
import type { WorkloadName } from '../workloads.ts';

/** What is compared: a contender that is there for all rounds, or a gateway of which each round has a new process. */
export type Compared =
  | { readonly type: 'lasting'; readonly contender: Contender }
  | { readonly type: 'fresh'; start(folder: string): Promise<Ours> };

/** The windows of each in one round. */
export type MeasuredRound<Name> = ReadonlyMap<Name, readonly Sample[]>;

interface RoundsOf<Name> {
  readonly processes: Processes;
  /** Begins the names of the folders of what is fresh. */
  readonly called: string;
  readonly cores: Cores | null;
  readonly compared: ReadonlyMap<Name, Compared>;
  readonly workload: WorkloadName;
}

/** Load before the first window of a new process: most of its code is compiled by then, and all of a round are as far. */
const FRESH_WARM_UP_MS = 6_000;
/** Nothing is left of another's load by then but what is in the caches of the core. */
const FRESH_SETTLE_MS = 300;
/** Where processes are new, the window of a round is taken in two halves, in opposite orders. */
const FRESH_TURNS = 2;

/**
 * Interleaved rounds. Two processes of one program differ for as long as they live (where their memory came to lie, what was
 * compiled when), by more than is looked for where a few percent are, and no number of windows of the same two takes that out:
 * what varies independently is the process. There, each round has new ones. Which begins goes round, and the second windows
 * come in the opposite order, so that whatever drifts meets all of them; each has had as much load as the others by then.
 */
export async function measureRounds<Name>(bench: Bench, of: RoundsOf<Name>): Promise<MeasuredRound<Name>[]> {
  const names = [...of.compared.keys()];
  const rounds: MeasuredRound<Name>[] = [];
  for (let round = 0; round < bench.options.rounds; round++)
    rounds.push(await measureRound(bench, of, { round, order: orderOf(names, round) }));
  return rounds;
}

/** Each begins as often as the others, and each order comes in both directions. */
export function orderOf<Name>(names: readonly Name[], round: number): readonly Name[] {
  const first = Math.floor(round / 2) % Math.max(1, names.length);
  const turned = [...names.slice(first), ...names.slice(0, first)];
  return round % 2 === 0 ? turned : turned.toReversed();
}

async function measureRound<Name>(
  bench: Bench,
  of: RoundsOf<Name>,
  { round, order }: { readonly round: number; readonly order: readonly Name[] },
): Promise<MeasuredRound<Name>> {
  const { contenders, folders } = await startRound(bench, of, { round, order });
  const turns = folders.length === 0 ? 1 : FRESH_TURNS;
  const { windowMs, settleMs } = bench.options;
  const halves = { windowMs: windowMs / turns, settleMs: Math.min(settleMs, FRESH_SETTLE_MS) };
  const shared = turns === 1 ? bench : { ...bench, options: { ...bench.options, ...halves } };
  const windows = new Map<Name, Sample[]>(order.map((name) => [name, []]));
  for (let turn = 0; turn < turns; turn++)
    for (const name of turn % 2 === 0 ? order : order.toReversed()) {
      const contender = contenders.get(name);
      if (contender !== undefined) windows.get(name)?.push(await measure(shared, contender, of.workload, round));
    }
  await Promise.all(folders.map((folder) => of.processes.stop(folder)));
  // Ledgers of all rounds would be many gigabytes; profiles stay.
  if (folders.length > 0) process.stderr.write(`${of.called}: ${round + 1} of ${bench.options.rounds} rounds\n`);
  for (const folder of folders) rmSync(join(of.processes.folder, folder, 'data'), { recursive: true, force: true });
  return windows;
}

async function startRound<Name>(
  bench: Bench,
  { called, cores, compared, workload }: RoundsOf<Name>,
  { round, order }: { readonly round: number; readonly order: readonly Name[] },
): Promise<{ readonly contenders: ReadonlyMap<Name, Contender>; readonly folders: readonly string[] }> {
  const started = await Promise.all(
    order.map(async (name, place) => {
      const one = compared.get(name);
      if (one === undefined) throw new Error('whatever has a place in a round is compared');
      if (one.type === 'lasting') return { name, contender: one.contender, folder: null };
      // Of one length, whatever is started there: the names are part of what a process finds in its memory.
      const folder = `${called}-${String(round).padStart(2, '0')}-${place}`;
      return { name, contender: await one.start(folder), folder };
    }),
  );
  if (cores !== null) for (const { contender } of started) pin(contender.pids, cores.measured);
  const { warmUpMs } = bench.options;
  const briefly = { ...bench, options: { ...bench.options, warmUpMs: Math.min(warmUpMs, FRESH_WARM_UP_MS) } };
  for (const { contender, folder } of started) {
    if (!contender.needsWarmUp) continue;
    if (folder !== null) await warmUp(briefly, contender, workload);
    else if (round === 0) await warmUp(bench, contender, workload);
  }
  return {
    contenders: new Map(started.map(({ name, contender }) => [name, contender])),
    folders: started.map(({ folder }) => folder).filter((folder) => folder !== null),
  };
}

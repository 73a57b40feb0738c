import { setTimeout } from 'node:timers/promises';
import type { Processes } from '../../fixtures/processes/processes.ts';
import type { Options } from '../options.ts';
import { machineCpuUs, usageOf } from '../process-usage.ts';
import type { SettlementSample } from './settlement-figures.ts';
import {
  SEALING_LOGS,
  SETTLEMENT_LOGS,
  SETTLEMENT_SPREADS,
  type SettlementLog,
  type SettlementSpread,
} from './settlement-protocol.ts';
import { Settler } from './settler.ts';

type SettlementTimes = Pick<Options, 'rounds' | 'settleMs' | 'windowMs' | 'profile'>;

/** Enough for Node to compile what runs; the code is the same for every spread. */
const WARM_UP_MS = 2_500;
/** Thousands are settled in it: a longer one would say no more. */
const WINDOW_MS_MAX = 2_000;

/**
 * Every log in turn, round after round, so that what changes on the machine meanwhile meets all of them. Only one
 * settles at a time; the processes of the others are idle.
 */
export const measureSettlements = (
  processes: Processes,
  times: SettlementTimes,
  profileFolder: string | null,
): Promise<SettlementSample[]> =>
  measureLogs(processes, times, {
    profileFolder,
    logs: SETTLEMENT_LOGS,
    spreads: Object.keys(SETTLEMENT_SPREADS) as SettlementSpread[],
  });

/** Sealing off and on, a pair a round. */
export const measureSealing = (processes: Processes, times: SettlementTimes): Promise<SettlementSample[]> =>
  measureLogs(processes, times, { profileFolder: null, logs: SEALING_LOGS, spreads: ['1,000 accounts'] });

interface MeasuredLogs {
  readonly profileFolder: string | null;
  readonly logs: readonly SettlementLog[];
  readonly spreads: readonly SettlementSpread[];
}

async function measureLogs(
  processes: Processes,
  times: SettlementTimes,
  { profileFolder, logs, spreads }: MeasuredLogs,
): Promise<SettlementSample[]> {
  const settlers: Settler[] = [];
  for (const log of logs) settlers.push(await Settler.start(processes, log, profileFolder));
  const samples: SettlementSample[] = [];
  for (const spread of spreads) {
    for (const settler of settlers) await warmUp(settler, spread);
    for (let round = 0; round < times.rounds; round++)
      for (const settler of round % 2 === 0 ? settlers : settlers.toReversed())
        samples.push(await measure(settler, spread, round, times));
  }
  for (const { name } of settlers) await processes.stop(name);
  return samples;
}

async function warmUp(settler: Settler, spread: SettlementSpread): Promise<void> {
  await settler.start(spread);
  await setTimeout(WARM_UP_MS);
  await settler.read();
  await settler.stop();
}

async function measure(
  settler: Settler,
  spread: SettlementSpread,
  round: number,
  { settleMs, windowMs }: SettlementTimes,
): Promise<SettlementSample> {
  await settler.start(spread);
  await setTimeout(settleMs);
  await settler.mark();
  const before = settler.pids.map((pid) => usageOf([pid]).cpuUs);
  const machineBefore = machineCpuUs();
  await setTimeout(Math.min(windowMs, WINDOW_MS_MAX));
  const machineUs = machineCpuUs() - machineBefore;
  const [settlerCpuUs = 0, storeCpuUs = 0] = settler.pids.map(
    (pid, index) => usageOf([pid]).cpuUs - (before[index] ?? 0),
  );
  const window = await settler.read();
  await settler.stop();
  const othersShare = Math.max(0, machineUs - settlerCpuUs - storeCpuUs) / (window.seconds * 1_000_000);
  return { log: settler.log, spread, round, window, settlerCpuUs, storeCpuUs, othersShare };
}

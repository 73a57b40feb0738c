import { readdirSync, readFileSync } from 'node:fs';

/** /proc counts in ticks of 1/100 s on every Linux that Node runs on (USER_HZ). */
const TICKS_PER_S = 100;

interface Usage {
  /** CPU time since the processes began, user and system, all threads, in microseconds. */
  readonly cpuUs: number;
  readonly rssBytes: number;
}

/** What processes have used up to now, together. @throws Error when one of them is gone. */
export function usageOf(pids: readonly number[]): Usage {
  let cpuUs = 0;
  let rssBytes = 0;
  for (const pid of pids) {
    cpuUs += cpuOfStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
    rssBytes += rssOfStatus(readFileSync(`/proc/${pid}/status`, 'latin1'));
  }
  return { cpuUs, rssBytes };
}

/** utime + stime, fields 14 and 15, or those of ended children behind them; the name in field 2 may have blanks and brackets. */
export function cpuOfStat(stat: string, whose: 'own' | 'children' = 'own'): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const at = whose === 'own' ? 11 : 13;
  const ticks = Number(fields[at]) + Number(fields[at + 1]);
  if (!Number.isInteger(ticks)) throw new Error(`/proc stat has no CPU times: ${stat}`);
  return (ticks / TICKS_PER_S) * 1_000_000;
}

/** What everything on this machine has used since it began, and what its host took from it. */
export const machineCpuUs = (): number => cpuOfMachine(readFileSync('/proc/stat', 'latin1'));

/** user, nice, system and steal of the first line; interrupts are nobody's, and idle is no use. */
export function cpuOfMachine(stat: string): number {
  const [user, nice, system, , , , , steal] = (stat.split('\n')[0] ?? '').trim().split(/\s+/).slice(1).map(Number);
  return (((user ?? 0) + (nice ?? 0) + (system ?? 0) + (steal ?? 0)) / TICKS_PER_S) * 1_000_000;
}

/** What is resident, or was at most since the process began. */
export function rssOfStatus(status: string, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const kib = new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  if (kib === undefined) throw new Error(`/proc status has no ${which}`);
  return Number(kib) * 1024;
}

export const peakRssOf = (pid: number): number => rssOfStatus(readFileSync(`/proc/${pid}/status`, 'latin1'), 'VmHWM');

/** CPU time of the children of this process that have ended, user and system, all threads. */
export const endedChildrenCpuUs = (): number => cpuOfStat(readFileSync('/proc/self/stat', 'latin1'), 'children');

interface MachineUse {
  readonly seconds: number;
  readonly machineUs: number;
  /** Of this process, and of those of its children that have ended. */
  readonly ownUs: number;
}

export function machineUse(): MachineUse {
  const { user, system } = process.cpuUsage();
  return { seconds: performance.now() / 1000, machineUs: machineCpuUs(), ownUs: user + system + endedChildrenCpuUs() };
}

/** Cores that everything else on the machine took between two looks, between which all that this process has started has ended. */
export const othersShareOf = (before: MachineUse, after: MachineUse): number =>
  Math.max(0, after.machineUs - before.machineUs - (after.ownUs - before.ownUs)) /
  ((after.seconds - before.seconds) * 1_000_000);

/** The processes that a process has started. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent);
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    // It has ended since the folder was read.
    return null;
  }
}

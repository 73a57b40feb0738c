import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { discardedOnSignal } from '../../ledger/discarded-on-signal.ts';

const TRIES = 3;
const PAUSE_MS = 110;

/** As `/proc/PID/autogroup` has it: `/autogroup-4 nice 0`. */
interface Session {
  readonly name: string;
  readonly niceness: number;
}

/**
 * Linux shares its cores between sessions first, and by the niceness of threads only within one (`sched(7)`, the autogroup feature): what an operator
 * runs at a terminal has as much as the gateway, of another session, whatever its threads say. Until this process ends its session has the share of
 * that niceness; not where others than its ancestors, the gateway maybe, are of the session, and nothing is done where Linux has no such sessions.
 * Killed with SIGKILL it leaves the session so.
 * @param niceness as `nice` counts it
 */
export function lowerSession(niceness: number): void {
  const own = sessionOf('self');
  if (own === null || own.niceness >= niceness || isShared(own)) return;
  if (!setNiceness(niceness)) return;
  const giveBack = (): void => {
    setNiceness(own.niceness);
  };
  process.once('exit', giveBack);
  void discardedOnSignal(giveBack, () => new Promise<never>(() => undefined));
}

function isShared({ name }: Session): boolean {
  const ancestors = new Set<string>();
  for (let pid = String(process.pid); pid !== '0' && !ancestors.has(pid); pid = parentOf(pid)) ancestors.add(pid);
  const others = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && !ancestors.has(entry));
  return others.some((pid) => sessionOf(pid)?.name === name);
}

/** Null where Linux was made without them, or there is no such process any more. */
function sessionOf(pid: string): Session | null {
  const [, name, niceness] = /^(\S+) nice (-?\d+)$/m.exec(read(`/proc/${pid}/autogroup`)) ?? [];
  return name === undefined ? null : { name, niceness: Number(niceness) };
}

/** Behind the name, which may have any letter: its state, and its parent. */
const parentOf = (pid: string): string => /\) \S (\d+) [^)]*$/.exec(read(`/proc/${pid}/stat`))?.[1] ?? '0';

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Of this process's session; whether it was. Whoever is no administrator is heard once in a tenth of a second, with all others together; where `/proc` cannot be written nobody is. */
function setNiceness(niceness: number): boolean {
  for (let tries = 0; tries < TRIES; tries++)
    try {
      writeFileSync('/proc/self/autogroup', String(niceness));
      return true;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  return false;
}

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Processes } from './processes.ts';

const READY_MS_MAX = 30_000;
const FAKE = fileURLToPath(new URL('../eventstoredb/main.ts', import.meta.url));

export interface EventStore {
  /** Null for a server that was given: what it uses is not seen. */
  readonly pid: number | null;
  readonly connectionString: string;
}

/** The server of EVENTSTOREDB_URL; without one the fake, as a process of its own. */
export async function eventStore(processes: Processes, name: string): Promise<EventStore> {
  const given = process.env.EVENTSTOREDB_URL;
  if (given !== undefined) return { pid: null, connectionString: given };
  const child = processes.spawn(name, [process.execPath, '--max-semi-space-size=64', FAKE], { stdout: 'pipe' });
  if (child.stdout === null) throw new Error('the event store was started with a pipe for its output');
  const lines = createInterface(child.stdout);
  const first = await Promise.race([
    once(lines, 'line').then(([line]) => String(line)),
    once(child, 'exit').then(() => null),
    setTimeout(READY_MS_MAX, null, { ref: false }),
  ]);
  if (first === null) throw new Error(`the event store did not start:\n${processes.logTail(name)}`);
  return { pid: child.pid ?? 0, connectionString: String(JSON.parse(first).connectionString) };
}

import { fileURLToPath } from 'node:url';
import { givenEventStore } from '../eventstoredb/given-event-store.ts';
import type { Processes } from '../fixtures/processes/processes.ts';
import { readyLine } from './ready-line.ts';

const FAKE = fileURLToPath(new URL('../eventstoredb/main.ts', import.meta.url));

interface EventStore {
  /** Null for a server that was given: what it uses is not seen. */
  readonly pid: number | null;
  readonly connectionString: string;
}

/** The server of EVENTSTOREDB_URL; without one the fake, as a process of its own. */
export async function eventStore(processes: Processes, name: string): Promise<EventStore> {
  const given = givenEventStore();
  if (given !== null) return { pid: null, connectionString: given.connectionString };
  const child = processes.spawn(name, [process.execPath, '--max-semi-space-size=64', FAKE], { stdout: 'pipe' });
  const { connectionString } = await readyLine<{ connectionString: string }>(child, processes, name);
  return { pid: child.pid ?? 0, connectionString };
}

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { GivenEventStore } from '../eventstoredb/given-event-store.ts';
import { PathToServer } from '../eventstoredb/path-to-server.ts';
import { startProcess } from '../fixtures/processes/child-process.ts';
import { freePort } from '../fixtures/processes/processes.ts';
import { readEventFile } from './event-file.ts';
import type { LoggedStream } from './logged-stream.ts';
import { EventStoreReading } from './read-event-store.ts';
import { RestartedProcess } from './restarted-process.ts';

/** What can be taken away from a run and brought back. */
export type TakenAway = Pick<
  RestartedProcess,
  'name' | 'hasEnded' | 'kill' | 'start' | 'whenReady' | 'pause' | 'resume' | 'stop'
>;

/** The event store of a run: the fake as a process of its own, or the server of `EVENTSTOREDB_URL`. */
export interface StoreOfRun {
  /** `eventLog` of a configuration. */
  readonly eventLog: {
    readonly kind: 'eventstoredb';
    readonly connectionString: string;
    readonly streamPrefix?: string;
  };
  /** The process, or the way to the server; null where connections cannot be led along one. */
  readonly taken: TakenAway | null;
  /** What the auditor finds there of this run. */
  streams(): Promise<LoggedStream[]>;
  stop(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('../eventstoredb/main.ts', import.meta.url));

/** Where nothing is given, the fake, with its file in the folder. It serves when this resolves. */
export async function startStoreOfRun(
  folder: string,
  stderrFd: number,
  given: GivenEventStore | null,
): Promise<StoreOfRun> {
  if (given !== null) return leadToGiven(given);
  const port = await freePort();
  const file = join(folder, 'events.jsonl');
  const taken = new RestartedProcess(
    'event store',
    () => startProcess([PROGRAM, '--port', String(port), '--file', file], { stderrFd }),
    () => undefined,
  );
  taken.start();
  await taken.whenReady();
  return {
    eventLog: { kind: 'eventstoredb', connectionString: `esdb://127.0.0.1:${port}?tls=false` },
    taken,
    streams: async () => readEventFile(file),
    stop: () => taken.stop(),
  };
}

/** To the server that is given, along a way that can be cut where its address allows for one. */
export async function leadToGiven({ connectionString, streamPrefix }: GivenEventStore): Promise<StoreOfRun> {
  const reading = await EventStoreReading.begin(connectionString, streamPrefix);
  const taken = await PathToServer.open(connectionString);
  const led = taken?.connectionString ?? connectionString;
  return {
    eventLog: { kind: 'eventstoredb', connectionString: led, streamPrefix },
    taken,
    streams: () => reading.streams(),
    stop: async () => {
      await taken?.stop();
      await reading.close();
    },
  };
}

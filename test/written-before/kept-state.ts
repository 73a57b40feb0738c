import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { StoredLog } from '../eventstoredb/stored-log.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { Computed } from './computed.ts';

export type Kind = 'sqlite' | 'eventstoredb';

/** What of a kept folder is put back. The ledger always is. */
export type Parts = 'whole' | 'ledger and views' | 'ledger';

/** A copy of a folder that the program of an earlier commit has left behind, with its log opened by today's. */
export interface KeptState {
  readonly data: string;
  readonly log: EventLog;
  /** What the program of then computed for the same parts. */
  readonly computed: Computed;
  /** The instant at which the old program was asked, and on from there: of the gateway and of the log's server. */
  readonly clock: () => number;
}

const folderOf = (commit: string, kind: Kind): string => fileURLToPath(new URL(`${commit}/${kind}`, import.meta.url));

/** Puts a copy into a folder of its own; the log is closed when the test ends. */
export async function putBack(commit: string, kind: Kind, parts: Parts): Promise<KeptState> {
  const { folder, computed } = readKept(commit, kind, parts);
  const startedMs = Date.now();
  const clock = (): number => computed.atMs + Date.now() - startedMs;
  return { data: join(folder, 'data'), computed, clock, log: await openLog(kind, folder, clock) };
}

/** A copy in a folder of its own: `data`, the catalog file and, of the event store, its file. */
export function readKept(commit: string, kind: Kind, parts: Parts): { folder: string; computed: Computed } {
  const kept = folderOf(commit, kind);
  const folder = temporaryFolder();
  cpSync(kept, folder, { recursive: true });
  const without = { whole: [], 'ledger and views': ['journal'], ledger: ['journal', 'views.db', 'proxy-id'] };
  for (const name of without[parts]) rmSync(join(folder, 'data', name), { recursive: true });
  const both = JSON.parse(readFileSync(join(kept, 'computed.json'), 'utf8')) as Record<
    'whole' | 'withoutJournal',
    Computed
  >;
  return { folder, computed: both[parts === 'whole' ? 'whole' : 'withoutJournal'] };
}

async function openLog(kind: Kind, folder: string, now: () => number): Promise<EventLog> {
  if (kind === 'sqlite') {
    return endedLater(await openSqliteEventLog({ path: join(folder, 'data', 'ledger.db') }));
  }
  const store = await startFakeEventStore({ log: new StoredLog({ file: join(folder, 'events.ndjson'), now }) });
  const log = await openEventStoreDbEventLog({ connectionString: store.connectionString, waitForServer: true });
  onTestFinished(async () => {
    await log.close();
    await store.stop();
    store.log.close();
  });
  return log;
}

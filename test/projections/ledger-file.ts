import { join } from 'node:path';
import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import { NO_STREAM, revision } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

export interface LedgerFile {
  readonly path: string;
  readonly log: EventLog;
}

/** An embedded ledger with the events of another log, in their order. */
export async function ledgerFileOf(events: readonly RecordedEvent[]): Promise<LedgerFile> {
  const path = join(temporaryFolder(), 'ledger.db');
  const log = endedLater(await openSqliteEventLog({ path }));
  await appendTo(log, events);
  return { path, log };
}

/** Behind one another, without waiting for each: the log writes them in this order. */
export async function appendTo(log: EventLog, events: readonly RecordedEvent[]): Promise<void> {
  const appended = events.map(({ stream, revision: at, ...event }) =>
    log.append(stream, at === 0 ? NO_STREAM : revision(at - 1), [event]),
  );
  for (const { type } of await Promise.all(appended)) if (type !== 'appended') throw new Error(type);
}

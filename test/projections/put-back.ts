import { join } from 'node:path';
import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import { NO_STREAM, revision } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { VIEWS_FILE } from '../../projections/known-views.ts';
import { Projections } from '../../projections/projections.ts';
import { endedLater } from '../fixtures/ended-later.ts';

/** What a gateway's life on a ledger leaves in its folder. */
export async function viewsOf(log: EventLog, folder: string): Promise<string> {
  const path = join(folder, VIEWS_FILE);
  const projections = await Projections.start({ log, path, persist: true });
  await projections.whenCaughtUp();
  await projections.close();
  return path;
}

/** A ledger with the first events of another, as somebody has put it back. */
export async function copyOf(log: EventLog | null, path: string, keep: (event: RecordedEvent) => boolean = () => true) {
  const copy = endedLater(await openSqliteEventLog({ path }));
  for await (const event of log?.readAll() ?? []) {
    if (!keep(event)) break;
    await copy.append(event.stream, event.revision === 0 ? NO_STREAM : revision(event.revision - 1), [event]);
  }
  return copy;
}

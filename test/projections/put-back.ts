import { join } from 'node:path';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountStream, commandId, NO_STREAM, revision } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { describeToDoAgain } from '../../projections/after-loss/describe-to-do-again.ts';
import { findToDoAgain, type ToDoAgain } from '../../projections/after-loss/to-do-again.ts';
import { VIEWS_FILE } from '../../projections/known-views.ts';
import { Projections } from '../../projections/projections.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { ACCOUNT } from '../fixtures/ledger/example-account.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

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

/** What a command prints of it, with commands that name no configuration. */
export const toldOf = (found: ToDoAgain | null): string[] | null =>
  found && describeToDoAgain(found, (...command) => command.join(' '));

interface Put {
  /** What the ledger was put back with. */
  readonly kept: readonly AccountEvent[];
  /** What the views know, which begins with that. */
  readonly known: readonly AccountEvent[];
  /** What the ledger has got since. */
  readonly since?: readonly AccountEvent[];
  readonly nowMs: number;
  /** Makes of the views' file what another program would have written. */
  readonly change?: (viewsFile: string) => void;
}

/** What is to be done again of the example's account. */
export async function lostOf({ kept, known, since = [], nowMs, change }: Put): Promise<ToDoAgain | null> {
  const folder = temporaryFolder();
  const whole = await ledgerOf(known);
  const left = await copyOf(whole, join(folder, 'left.db'), (event) => event.revision < kept.length);
  if (since.length > 0)
    await left.append(accountStream(ACCOUNT), revision(kept.length - 1), encodeEvents(since, recording()));
  const views = await viewsOf(whole, folder);
  change?.(views);
  return findToDoAgain(left, views, nowMs);
}

/** A ledger that has the example's account, with these events. */
export async function ledgerOf(events: readonly AccountEvent[]): Promise<EventLog> {
  const log = await copyOf(null, join(temporaryFolder(), 'whole.db'));
  await log.append(accountStream(ACCOUNT), NO_STREAM, encodeEvents(events, recording()));
  return log;
}

let commands = 0;
const recording = () => ({
  commandId: commandId(`019a5b3c-0000-7000-8000-${(++commands).toString(16).padStart(12, '0')}`),
  ...{ actor: 'test', recordedAt: '2026-12-04T10:00:00.000Z' },
});

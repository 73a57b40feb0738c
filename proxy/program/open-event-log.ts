import { join } from 'node:path';
import type { Configuration, EventLogConfiguration } from '../../contracts/configuration.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { inAdoptedForms } from '../../ledger/forms/in-adopted-forms.ts';
import { LEDGER_FILE } from '../../ledger/ledger-file.ts';
import type { LogUse } from './command-context.ts';

/** The embedded log's; null where the log is another. */
export const ledgerFile = ({ eventLog, data }: Configuration): string | null =>
  eventLog.kind === 'sqlite' ? join(data, LEDGER_FILE) : null;

/** The log as the program writes to it. @throws as `CommandContext` says */
export const openInAdoptedForms = async (configuration: Configuration, use?: LogUse): Promise<EventLog> =>
  inAdoptedForms(await openEventLog(configuration, use), { passedMs: () => performance.now(), beginsLedger: true });

/** The log itself, which takes events as they stand. The only place that builds adapters. A command waits for the start check. @throws as `CommandContext` says */
export async function openEventLog({ eventLog, data }: Configuration, use?: LogUse): Promise<EventLog> {
  const follower = typeof use === 'object' ? use : undefined;
  // A command looks at little, and is soon done; what is served from has to be whole.
  if (eventLog.kind === 'sqlite')
    return openSqliteEventLog({
      path: join(data, LEDGER_FILE),
      isServedFrom: follower !== undefined,
      readsHere: use === 'reads only',
      ...(follower === undefined ? {} : { onLost: follower.onLost }),
    });
  const { connectionString, streamPrefix } = eventLog;
  // Loaded here, because its driver is a third of what a command loads, and most commands run over an embedded log.
  const { openEventStoreDbEventLog } = await import('../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts');
  if (follower === undefined)
    return openEventStoreDbEventLog({
      ...{ connectionString, streamPrefix, waitForServer: true },
      readsOnly: use === 'reads only',
    });
  const log = await openEventStoreDbEventLog({ connectionString, streamPrefix, logger: follower.logger });
  void log.startFaults.then((faults) => {
    if (faults.length > 0) follower.onFaults(faults);
  });
  return log;
}

type LogPlace =
  | Extract<EventLogConfiguration, { kind: 'eventstoredb' }>
  | { readonly kind: 'sqlite'; readonly path: string };

/** Another log than the configured one, for a command. @throws as `openEventLog` */
export async function openLogAt(place: LogPlace): Promise<EventLog> {
  if (place.kind === 'sqlite') return openSqliteEventLog({ path: place.path });
  const { openEventStoreDbEventLog } = await import('../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts');
  const { connectionString, streamPrefix } = place;
  return openEventStoreDbEventLog({ connectionString, streamPrefix, waitForServer: true });
}

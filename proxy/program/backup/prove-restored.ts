import { existsSync } from 'node:fs';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { eventId } from '../../../contracts/ids.ts';
import type { LedgerComparison } from '../../../ledger/identity/compare-ledger.ts';
import { readNote, writeNote } from '../../../ledger/identity/folder-note.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { readFolder } from '../../../projections/read-folder.ts';
import type { CommandContext } from '../command-context.ts';
import { compareWithTopic } from '../ledger/compare-with-topic.ts';

/**
 * Whether a ledger has all that its data folder and its topic know of it, as `accept-loss` asks, and what the topic alone knows is
 * noted in the folder, so that no start passes it by. @param data the folder, also one that is still being made
 * @throws EventLogError
 */
export async function proveRestored(
  log: EventLog,
  {
    data,
    configuration,
    context,
  }: { readonly data: string; readonly configuration: Configuration; readonly context: CommandContext },
): Promise<LedgerComparison> {
  const journal = journalFolder(data);
  const folder = readFolder(data, existsSync(journal) ? readBesideGateway(journal) : [], context.clock());
  const { comparison, known } = await compareWithTopic(log, { folder, configuration }, (reason) =>
    context.warn(`warning: ${reason}\n`),
  );
  if (comparison.type !== 'lost') return comparison;
  const note = readNote(data);
  const isNoted = comparison.lost.some(({ id }) => id !== null && id === note?.newest?.id);
  const lost = comparison.lost.find(({ id }) => id !== null);
  const identity = known ?? comparison.state.identity;
  if (!isNoted && lost?.id != null && identity !== null) {
    const newest = { stream: lost.stream, revision: lost.revision, id: eventId(lost.id) };
    writeNote(data, { leases: {}, earlier: [], ...note, ...identity, newest });
  }
  return comparison;
}

import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { eventId } from '../../../contracts/ids.ts';
import type { LedgerComparison } from '../../../ledger/identity/compare-ledger.ts';
import { readNote, writeNote } from '../../../ledger/identity/folder-note.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { type FolderKnowledge, readFolder } from '../../../projections/read-folder.ts';
import type { CommandContext } from '../command-context.ts';
import { compareWithTopic } from '../ledger/compare-with-topic.ts';

/**
 * Whether a ledger has all that its data folder and its topic know of it, as `accept-loss` asks, and what the topic alone knows is
 * noted in the folder, so that no start passes it by. @param data the folder, also one that is still being made
 * @param survivors data folders that have outlived the ledger, which has to have what they know, too
 * @throws EventLogError
 */
export async function proveRestored(
  log: EventLog,
  {
    data,
    survivors,
    configuration,
    context,
  }: {
    readonly data: string;
    readonly survivors: readonly string[];
    readonly configuration: Configuration;
    readonly context: CommandContext;
  },
): Promise<LedgerComparison> {
  const own = readFolder(data, readBesideGateway(journalFolder(data)), context.clock());
  const folder = await allOf(
    log,
    [own, ...survivors.map((one) => readFolder(one, [], context.clock()))],
    configuration,
  );
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

/** What all folders that the ledger falls short of know; the first one alone where there is none. @throws EventLogError */
async function allOf(
  log: EventLog,
  [own, ...others]: readonly [FolderKnowledge, ...FolderKnowledge[]],
  configuration: Configuration,
): Promise<FolderKnowledge> {
  if (others.length === 0) return own;
  const missed: FolderKnowledge[] = [];
  // Each by itself: what one of an earlier generation knows says nothing of the others.
  for (const folder of [own, ...others]) {
    const alone = { folder, configuration: { ...configuration, kafka: null } };
    const { comparison } = await compareWithTopic(log, alone, () => undefined);
    if (comparison.type === 'lost' || comparison.type === 'other ledger') missed.push(folder);
  }
  const generation = ({ identity }: FolderKnowledge): number => identity?.generation ?? 0;
  const [newest] = missed.toSorted((one, other) => generation(other) - generation(one));
  return newest === undefined ? own : { ...newest, all: missed.flatMap(({ all }) => all) };
}

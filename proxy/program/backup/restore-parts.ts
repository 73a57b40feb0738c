import { copyFileSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { BackupManifest } from '../../../ledger/backup/manifest.ts';
import { refillFromCopy } from '../../../ledger/backup/refill-from-copy.ts';
import type { RefilledFromTopic } from '../../../ledger/backup/refill-from-topic.ts';
import { refillJournal } from '../../../ledger/backup/refill-journal.ts';
import { CopyError } from '../../../ledger/copy/copy-error.ts';
import { COPY_LIMITS } from '../../../ledger/copy/limits.ts';
import { backUpFile } from '../../../ledger/event-log/sqlite/back-up-file.ts';
import { withLogFile } from '../../../ledger/event-log/sqlite/log-file.ts';
import { isJournalFolder, journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { mergeKeptLockouts, writeKeptLockouts } from '../../../projections/after-loss/kept-lockouts.ts';
import { readUndamaged } from '../../../projections/damaged-views.ts';
import { readFoldedThrough, VIEWS_FILE } from '../../../projections/known-views.ts';
import { readParked, writeParked } from '../../../projections/parked-accounts.ts';
import { readFolder } from '../../../projections/read-folder.ts';
import type { CommandContext } from '../command-context.ts';
import { Progress } from '../progress.ts';
import { isKept } from './data-folder-names.ts';

/** What has outlived the ledger, by what a command line names. */
export interface Survivors {
  readonly fromCopy: readonly string[];
  readonly fromTopic?: true;
  /** Journals, or data folders with one. */
  readonly fromJournal: readonly string[];
}

/** As a command line names them. */
export const flagsOf = ({ fromCopy, fromTopic, fromJournal }: Survivors): string[] => [
  ...fromCopy.map((file) => `--from-copy ${file}`),
  ...(fromTopic === true ? ['--from-topic'] : []),
  ...fromJournal.map((folder) => `--from-journal ${folder}`),
];

/** What was put back of what the backup lacks; null where nothing of the kind was named. */
export interface Refilled {
  /** Events. */
  readonly fromCopies: number | null;
  readonly fromTopic: RefilledFromTopic | null;
  /** Requests of journals, that are settled when the gateway starts. */
  readonly requests: number | null;
}

const journalIn = (folder: string): string => (existsSync(journalFolder(folder)) ? journalFolder(folder) : folder);

/** Whether there is a journal by what a command line names. @throws Error of the file system */
export const hasJournal = (folder: string): boolean =>
  statSync(folder).isDirectory() && (isDataFolder(folder) || isJournalFolder(folder));

/** Whether a folder is the data folder of a gateway, and not its journal alone. */
const isDataFolder = (folder: string): boolean => existsSync(journalFolder(folder));

/** How far a folder knows its ledger: up to which position of which generation. */
interface KnownFolder {
  readonly folder: string;
  readonly generation: number;
  /** -1 where it does not say. */
  readonly position: number;
}

function knownBy(folder: string): KnownFolder {
  const views = join(folder, VIEWS_FILE);
  const folded = readUndamaged(views, () => readFoldedThrough(views));
  return {
    folder,
    generation: readFolder(folder, [], 0).identity?.generation ?? 0,
    position: (folded.damage === null ? folded.read?.position : null) ?? -1,
  };
}

const newestFirst = (known: readonly KnownFolder[]): string[] =>
  known
    .toSorted((one, other) => other.generation - one.generation || other.position - one.position)
    .map(({ folder }) => folder);

/** The data folders among them, that which knows the ledger furthest first. @throws as `readFolder` */
export const dataFoldersOf = ({ fromJournal }: Pick<Survivors, 'fromJournal'>): string[] =>
  newestFirst(fromJournal.filter(isDataFolder).map(knownBy));

/**
 * What a data folder has noted since the backup is what the restored one goes by, with its views: they know what the ledger has
 * to have, and who is refused. Of several, and of the backup itself, it is the newest; who is refused or parked by any of them stays so.
 * @param to the folder that is being made, with what the backup has noted
 */
export async function takeNotes(
  dataFolders: readonly string[],
  to: string,
  { generation, head }: BackupManifest['ledger'],
): Promise<void> {
  if (dataFolders.length === 0) return;
  const backedUp = { folder: to, generation, position: head?.position ?? -1 };
  const all = newestFirst([backedUp, ...dataFolders.map(knownBy)]);
  // Before those of the newest stand in the place of the backup's own.
  const [lockouts, parked] = [mergeKeptLockouts(all), all.flatMap(readParked)];
  const [newest] = all;
  if (newest !== undefined && newest !== to) await takeAllNotes(newest, to);
  if (lockouts.length > 0) writeKeptLockouts(to, lockouts);
  for (const { accountId, reason } of parked)
    if (!readParked(to).some((one) => one.accountId === accountId)) writeParked(to, accountId, reason);
}

async function takeAllNotes(data: string, to: string): Promise<void> {
  for (const name of readdirSync(data).filter(isKept)) copyFileSync(join(data, name), join(to, name));
  if (!existsSync(join(data, VIEWS_FILE))) return;
  rmSync(join(to, VIEWS_FILE), { force: true });
  await backUpFile(join(data, VIEWS_FILE), join(to, VIEWS_FILE));
}

/**
 * Other copies first, which have every event, then the topic, which lacks those of some streams, then journals, of which events
 * are made anew. @param to the folder that is being made
 * @throws CopyError, TopicAwayError; EventLogError, JournalError
 */
export async function refill(
  log: EventLog,
  { fromCopy, fromTopic, fromJournal }: Survivors,
  {
    to,
    configuration,
    context,
  }: { readonly to: string; readonly configuration: Configuration; readonly context: CommandContext },
): Promise<Refilled> {
  using progress = new Progress(context, 'events');
  const atOnce = configuration.eventLog.kind === 'sqlite' ? COPY_LIMITS.appendsAtOnceInFile : 1;
  let fromCopies = 0;
  for (const file of fromCopy)
    fromCopies += await withLogFile(file, async (copy) => {
      const of = (await copy.headPosition()) ?? 0;
      return refillFromCopy(copy, log, { atOnce, onRefilled: (events) => progress.add(events, of) });
    }).catch((error: unknown) => {
      if (!(error instanceof CopyError)) throw error;
      throw new CopyError(`--from-copy ${file} is the source, the backup the target: ${error.message}`, {
        cause: error,
      });
    });
  const { kafka } = configuration;
  let ofTopic: RefilledFromTopic | null = null;
  if (fromTopic === true && kafka !== null) {
    const { refillFromTopic } = await import('../../../ledger/backup/refill-from-topic.ts');
    const onRefilled = (): void => undefined;
    ofTopic = await refillFromTopic(log, { kafka, file: join(to, 'topic.partial'), atOnce, onRefilled });
  }
  const requests =
    fromJournal.length === 0
      ? null
      : await refillJournal({
          from: fromJournal.map(journalIn),
          to: journalFolder(to),
          bytesMax: configuration.journal.maxBytes,
          log,
          nowMs: context.clock(),
        });
  return { fromCopies: fromCopy.length === 0 ? null : fromCopies, fromTopic: ofTopic, requests };
}

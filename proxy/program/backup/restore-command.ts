import { existsSync, rmSync, type Stats, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { BackupFault } from '../../../ledger/backup/backup-fault.ts';
import { checkBackup } from '../../../ledger/backup/check-backup.ts';
import type { BackupManifest } from '../../../ledger/backup/manifest.ts';
import { copyBackup } from '../../../ledger/backup/restore.ts';
import { finishRestore, NotRestorableError, RestoreFolder } from '../../../ledger/backup/restore-folder.ts';
import { TopicAwayError } from '../../../ledger/backup/topic-away-error.ts';
import { CopyError } from '../../../ledger/copy/copy-error.ts';
import { discardedOnSignal } from '../../../ledger/discarded-on-signal.ts';
import { RECORD_END } from '../../../ledger/event-log/sqlite/wal-record.ts';
import { assertInNoBackup } from '../../../ledger/in-no-backup.ts';
import { isWithin } from '../../../ledger/is-within.ts';
import { LEDGER_FILE, MANIFEST_FILE } from '../../../ledger/ledger-file.ts';
import { type SealVerdict, verifySeals } from '../../../ledger/seals/verify-seals.ts';
import { wantOfDiskOf } from '../../../ledger/want-of-disk.ts';
import { wantOfRightsOf } from '../../../ledger/want-of-rights.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { assertThere, pathArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, configurationOf, EXIT } from '../command-context.ts';
import { assertKafkaRead } from '../configuration/assert-kafka-read.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { ledgerFile, openEventLog } from '../open-event-log.ts';
import { Progress } from '../progress.ts';
import { show } from '../show.ts';
import { proveRestored } from './prove-restored.ts';
import { dataFoldersOf, flagsOf, hasJournal, refill, type Survivors, takeNotes } from './restore-parts.ts';
import { type Restored, restoredJson, restoredText } from './restored-text.ts';

const andAnother = (path: string, before: readonly string[]): string[] => [...before, resolve(pathArgument(path))];

/** `gateway ledger restore`: a backup, with what has outlived the ledger, becomes a data folder. */
export function addRestoreCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('restore')
    .description(
      'make a data folder of a backup, checked to the byte; put back what came after it from other copies, the topic, journals;' +
        ' and prove it as a gateway proves its ledger at its start. What is known to be missing then is named (code 3);' +
        ' `gateway ledger accept-loss` gives it up. Interrupted, it is run again',
    )
    .argument('<folder>', 'what `gateway ledger backup` has made', pathArgument)
    .option(
      '--from-copy <file>',
      "another copy of the ledger's file, for what it has more (again for more)",
      andAnother,
      [],
    )
    .option('--from-topic', 'the topic that the configuration names (kafka.topic), for what it has more')
    .option(
      '--from-journal <folder>',
      'a journal that is left, or a data folder with one, whose notes and views are believed, too (again for more)',
      andAnother,
      [],
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger restore /mnt/backup/gateway-2027-05-01 --data /var/lib/gateway' +
        '\n  gateway ledger restore /mnt/backup/gateway-2027-05-01 --data /var/lib/gateway --from-journal /var/lib/gateway.broken',
    )
    .action(async (folder: string, survivors: Survivors, command: Command) => {
      const configuration = configurationOf(context, command);
      const restored = await inWords(configuration.data, () =>
        restore(resolve(folder), survivors, { configuration, context }),
      );
      show(context, command, {
        json: restoredJson(restored),
        text: () => restoredText(restored, nextCommand(startedWithOf(context), 'gateway', 'serve')),
      });
      const { comparison, sealed } = restored;
      if (comparison.type === 'lost' || comparison.type === 'other ledger') throw comparison.error;
      if (sealed?.verdict === 'damaged')
        throw new CommandError(
          `the ledger is not as it was sealed (${sealed.faults[0]?.problem}): gateway ledger verify --seals says more`,
          EXIT.faults,
        );
    });
}

interface Restoring {
  readonly configuration: Configuration;
  readonly context: CommandContext;
}

/** @throws CommandError, BackupFault, NotRestorableError, CopyError, TopicAwayError, EventLogError, JournalError */
async function restore(backup: string, survivors: Survivors, restoring: Restoring): Promise<Restored> {
  const { configuration } = restoring;
  const { data } = configuration;
  assertFolders(backup, survivors, data);
  const manifest = { ...(await checkBackup(backup)), restoredWith: flagsOf(survivors) };
  assertFitting(backup, manifest, survivors, configuration);
  const folder = RestoreFolder.begin(data, manifest);
  if (folder === null) {
    finishRestore(data);
    const proved = await onLog(configuration, async (log) => ({
      comparison: await proveRestored(log, { data, survivors: dataFoldersOf(survivors), ...restoring }),
      sealed: await sealedIn(log, manifest),
    }));
    return { data, manifest, refilled: null, ...proved };
  }
  const made = await discardedOnSignal(
    () => folder.drop(),
    () => make(folder, { backup, manifest, survivors, restoring }),
  ).catch((error: unknown) => {
    folder.drop();
    throw error;
  });
  finishRestore(data);
  return { data, manifest, ...made };
}

interface Making {
  readonly backup: string;
  readonly manifest: BackupManifest;
  readonly survivors: Survivors;
  readonly restoring: Restoring;
}

/** All that the data folder is to have, in the folder that is being made. */
async function make(
  folder: RestoreFolder,
  { backup, manifest, survivors, restoring: { configuration, context } }: Making,
): Promise<Pick<Restored, 'refilled' | 'comparison' | 'sealed'>> {
  const { path } = folder;
  const of = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  using progress = new Progress(context, 'bytes');
  await copyBackup(backup, path, manifest, ({ bytes }) => progress.add(bytes, of));
  progress.end();
  const dataFolders = dataFoldersOf(survivors);
  await takeNotes(dataFolders, path, manifest.ledger);
  const made = await onLog({ ...configuration, data: path }, async (log) => {
    const refilled = await refill(log, survivors, { to: path, configuration, context });
    const comparison = await proveRestored(log, { data: path, survivors: dataFolders, configuration, context });
    if (comparison.type === 'other ledger') throw comparison.error;
    return { refilled, comparison, sealed: await sealedIn(log, manifest) };
  });
  // Views of a ledger that has everything are made anew: an event that was put back may stand at another position.
  if (made.comparison.type === 'whole' && manifest.eventLog === 'sqlite')
    for (const end of ['', '-wal', '-shm']) rmSync(join(path, VIEWS_FILE + end), { force: true });
  const file = ledgerFile({ ...configuration, data: path });
  if (file !== null) rmSync(file + RECORD_END, { force: true });
  folder.end(manifest);
  return made;
}

/** What is in a file is verified as a whole: by its seals. A server's ledger has not been restored here. @throws EventLogError */
async function sealedIn(log: EventLog, { eventLog }: BackupManifest): Promise<SealVerdict | null> {
  return eventLog === 'sqlite' ? verifySeals(log, { keys: null, anchors: [], leaves: null }) : null;
}

/** The log itself: what is put back is written as it stands, and not in the forms that the backup had adopted. */
async function onLog<T>(configuration: Configuration, work: (log: EventLog) => Promise<T>): Promise<T> {
  const log = await openEventLog(configuration);
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}

/** What is named is there, and of its kind, before anything is made. @throws CommandError */
function assertFolders(backup: string, { fromCopy, fromJournal }: Survivors, data: string): void {
  assertThere(backup);
  if (lookAt(join(backup, MANIFEST_FILE)) === null)
    throw new CommandError(
      `${backup} is no backup: it has no ${MANIFEST_FILE}, which \`gateway ledger backup\` writes last`,
      EXIT.usage,
    );
  if (lookAt(data)?.isDirectory() === false)
    throw new CommandError(`${data} is no folder: name another with --data or \`data\``, EXIT.usage);
  for (const copy of fromCopy) assertThere(copy, '--from-copy');
  for (const journal of fromJournal) assertJournal(journal);
}

/** @throws CommandError where the folder neither has a journal nor is one */
function assertJournal(folder: string): void {
  assertThere(folder, '--from-journal');
  if (hasJournal(folder)) return;
  const ledger = join(folder, LEDGER_FILE);
  const orLedger = existsSync(ledger) ? `; what its ledger has, --from-copy ${ledger} puts back` : '';
  throw new CommandError(
    `--from-journal ${folder}: has no journal, and is none: name a data folder on which a gateway has run, or a journal of such a one${orLedger}`,
    EXIT.usage,
  );
}

/** Null where nothing is there. @throws CommandError where it may not be seen whether anything is */
function lookAt(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    const lacking = wantOfRightsOf(error);
    throw lacking === null ? error : new CommandError(lacking, EXIT.unavailable);
  }
}

/** @throws CommandError, ConfigurationError */
function assertFitting(
  backup: string,
  manifest: BackupManifest,
  { fromTopic }: Survivors,
  configuration: Configuration,
): void {
  const { data, eventLog, kafka } = configuration;
  if (isWithin(data, backup))
    throw new CommandError(`${data} is in the backup (${backup}), which would be one no more`, EXIT.refused);
  assertInNoBackup(data);
  if (manifest.eventLog !== eventLog.kind)
    throw new CommandError(
      `${backup} is of a ledger in ${manifest.eventLog}, and the configuration says eventLog.kind: ${eventLog.kind}`,
      EXIT.usage,
    );
  if (fromTopic === true && kafka === null)
    throw new CommandError('--from-topic: the configuration has no section kafka', EXIT.usage);
  if (fromTopic === true) assertKafkaRead(configuration);
}

/** What is amiss, in words; anything else as it is. @param to the data folder that is made @throws CommandError */
async function inWords<T>(to: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BackupFault) throw new CommandError(error.message, EXIT.faults);
    if (error instanceof CopyError) throw new CommandError(error.message, EXIT.refused);
    if (error instanceof TopicAwayError) throw new CommandError(error.message, EXIT.unavailable);
    if (error instanceof NotRestorableError) throw new CommandError(error.message, EXIT.usage);
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    throw new CommandError(wantOfDiskOf(error, to) ?? error.message, EXIT.unavailable);
  }
}

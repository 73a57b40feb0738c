import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import { groupedCount } from '../../../contracts/money.ts';
import { BackupFault } from '../../../ledger/backup/backup-fault.ts';
import { checkBackup } from '../../../ledger/backup/check-backup.ts';
import type { BackupManifest } from '../../../ledger/backup/manifest.ts';
import { copyBackup } from '../../../ledger/backup/restore.ts';
import { finishRestore, NotRestorableError, RestoreFolder } from '../../../ledger/backup/restore-folder.ts';
import { discardedOnSignal } from '../../../ledger/discarded-on-signal.ts';
import { pathArgument } from '../command-arguments.ts';
import { type CommandCall, type CommandContext, CommandError, configurationOf, EXIT } from '../command-context.ts';
import { Progress } from '../progress.ts';
import { show } from '../show.ts';
import { type Proof, proveRestored } from './prove-restored.ts';

/** `gateway ledger restore`: a backup becomes a data folder. */
export function addRestoreCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('restore')
    .description(
      'make a data folder of a backup: checked to the byte before, and proved at the end as a gateway proves its ledger when' +
        ' it starts. What is known to be missing then is named; `gateway ledger accept-loss` gives it up',
    )
    .argument('<folder>', 'what `gateway ledger backup` has made', pathArgument)
    .addHelpText('after', '\nExample:\n  gateway ledger restore /mnt/backup/gateway-2027-05-01 --data /var/lib/gateway')
    .action(async (folder: string, _options: unknown, command: Command) => {
      const configuration = configurationOf(context, command);
      const backup = resolve(folder);
      const call = { context, command };
      const manifest = await inWords(() => restore(backup, configuration, call));
      await showProved(configuration, manifest, call);
    });
}

async function restore(
  backup: string,
  { data, eventLog }: Configuration,
  { context }: CommandCall,
): Promise<BackupManifest> {
  using progress = new Progress(context, 'bytes');
  const manifest = await checkBackup(backup, () => undefined);
  if (manifest.eventLog !== eventLog.kind)
    throw new CommandError(
      `${backup} is of a ledger in ${manifest.eventLog}, and the configuration says eventLog.kind: ${eventLog.kind}`,
      EXIT.usage,
    );
  const of = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const folder = RestoreFolder.begin(data);
  if (folder !== null) {
    const make = async (): Promise<void> => {
      await copyBackup(backup, folder.path, manifest, ({ bytes }) => progress.add(bytes, of));
      folder.end();
    };
    await discardedOnSignal(() => folder.drop(), make).catch((error: unknown) => {
      folder.drop();
      throw error;
    });
  }
  finishRestore(data, () => undefined);
  return manifest;
}

/** What is amiss, in words; anything else as it is. @throws CommandError */
async function inWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BackupFault) throw new CommandError(error.message, EXIT.faults);
    if (error instanceof NotRestorableError) throw new CommandError(error.message, EXIT.usage);
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    throw new CommandError(error.message, EXIT.unavailable);
  }
}

async function showProved(configuration: Configuration, manifest: BackupManifest, call: CommandCall): Promise<void> {
  const { context, command } = call;
  const proof = await proveRestored(configuration, context);
  const { data } = configuration;
  const { ledger, begunAt, requests, keys, leftOut } = manifest;
  show(context, command, {
    json: { data, ledger, backedUpAt: begunAt, requests, keys, isWhole: proof.error === null },
    text: () => textOf(data, manifest, proof),
  });
  if (proof.error !== null) throw proof.error;
  void leftOut;
}

function textOf(data: string, { ledger, begunAt, requests, keys }: BackupManifest, proof: Proof): string {
  const { ledgerId, generation, head } = ledger;
  return [
    `${data}: the ledger ${ledgerId ?? 'without an identity'}, generation ${generation}, as of ${begunAt}`,
    head === null ? 'it has no events' : `up to position ${head.position} (${head.stream} revision ${head.revision})`,
    `the journal with ${groupedCount(requests)} requests, which the gateway settles when it starts`,
    ...keys.map(({ use, name }) => `to be put back by hand: ${name} (${use})`),
    ...(proof.error === null
      ? [`it has everything that is known of it; what came after ${begunAt} nobody knows who was asked`]
      : []),
    '',
    proof.error === null ? 'next: gateway serve' : 'next: what stands below',
  ].join('\n');
}

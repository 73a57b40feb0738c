import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { groupedCount } from '../../../contracts/money.ts';
import { backUp } from '../../../ledger/backup/back-up.ts';
import { lookAtLedger } from '../../../ledger/backup/look-at-ledger.ts';
import type { BackupManifest } from '../../../ledger/backup/manifest.ts';
import { PartialFolder } from '../../../ledger/backup/partial-folder.ts';
import { discardedOnSignal } from '../../../ledger/discarded-on-signal.ts';
import { ledgerPlace } from '../../../ledger/event-log/ledger-place.ts';
import { isWithin } from '../../../ledger/is-within.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { pathArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, withReadLog } from '../command-context.ts';
import { keysByName } from '../configuration/keys-by-name.ts';
import { outInWords } from '../ledger/out-in-words.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { programVersion } from '../program-version.ts';
import { Progress } from '../progress.ts';
import { show } from '../show.ts';
import { isKept, leftOutOf } from './data-folder-names.ts';

/** `gateway ledger backup`: the ledger, the journal and what is noted beside them, of a gateway that may be running. */
export function addBackupCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('backup')
    .description(
      'copy the ledger, the journal and what the data folder notes into a new folder, while the gateway runs, and verify' +
        ' the copy. No secret is in it: what it leaves out is named. Where EventStoreDB keeps the ledger, its own backup is' +
        ' needed, too, taken after this one',
    )
    .argument('<folder>', 'a new folder', pathArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger backup /mnt/backup/gateway-2027-05-01\n  gateway ledger backup "/mnt/backup/$(date +%F)" --json | jq .ledger',
    )
    .action(async (folder: string, _options: unknown, command: Command) => {
      const path = resolve(folder);
      await withReadLog(context, command, async (log, configuration) => {
        const manifest = await backUpTo(path, { context, log, configuration });
        show(context, command, { json: { folder: path, ...manifest }, text: () => textOf(path, manifest, context) });
      });
    });
}

interface Parts {
  readonly context: CommandContext;
  readonly log: EventLog;
  readonly configuration: Configuration;
}

async function backUpTo(path: string, { context, log, configuration }: Parts): Promise<BackupManifest> {
  const { data, eventLog } = configuration;
  if (isWithin(path, data))
    throw new CommandError(`${path} is in the data folder (${data}), and has to outlive it`, EXIT.usage);
  const isFile = eventLog.kind === 'sqlite';
  const where = ledgerPlace(configuration);
  using progress = new Progress(context, 'pages');
  let partial: PartialFolder | null = null;
  try {
    partial = PartialFolder.begin(path);
    const folder = partial;
    const manifest = await discardedOnSignal(
      () => folder.drop(),
      () =>
        backUp(folder.path, {
          data,
          isKept,
          ledger: isFile ? { file: where } : { look: () => lookAtLedger(log) },
          // The server's backup may turn out to be older than what the views have seen.
          databases: isFile ? [] : [VIEWS_FILE],
          clock: context.clock,
          says: {
            ...{ program: programVersion(), eventLog: eventLog.kind, where, keys: keysByName(configuration) },
            leftOut: leftOutOf(readdirSync(data), { isFile }),
          },
          onPages: (pages, of) => progress.add(pages, of),
        }),
    );
    folder.end();
    return manifest;
  } catch (error) {
    partial?.drop();
    throw outInWords(error, path);
  }
}

function textOf(
  path: string,
  { ledger, requests, files, keys, leftOut, eventLog, begunAt }: BackupManifest,
  context: CommandContext,
): string {
  const { config } = startedWithOf(context);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const { ledgerId, generation, head, seal } = ledger;
  const upTo =
    head === null ? 'it has no events' : `up to position ${head.position} (${head.stream} revision ${head.revision})`;
  return [
    `${path}: verified, as of ${begunAt}; files: ${groupedCount(files.length)}, bytes: ${groupedCount(bytes)}`,
    `the ledger ${ledgerId ?? 'without an identity'}, generation ${generation}, ${upTo}`,
    seal === null
      ? 'nothing is sealed'
      : `sealed up to event ${groupedCount(seal.treeSize)} (seal ${seal.seal}, SHA-256 ${seal.sha256})`,
    `requests in the journal: ${groupedCount(requests)}`,
    ...leftOut.map(({ name, why }) => `left out: ${name} (${why})`),
    ...keys.map(({ use, name }) => `needed beside it, and not in it: ${name} (${use})`),
    ...(eventLog === 'sqlite'
      ? []
      : [
          "the ledger's events are not in it: EventStoreDB keeps them. Take the server's own backup now, after this one",
        ]),
    '',
    `next, where it is needed: ${nextCommand({ config, data: undefined }, 'gateway', 'ledger', 'restore', resolve(path), '--data', 'NEW-FOLDER')}`,
  ].join('\n');
}

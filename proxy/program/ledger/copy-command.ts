import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import { variableNotSet } from '../../../contracts/environment-variable.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { LEDGER_STREAM } from '../../../contracts/ids.ts';
import { counted } from '../../../contracts/money.ts';
import { CopyError } from '../../../ledger/copy/copy-error.ts';
import { type CopiedLedger, type CopySource, copyLedger } from '../../../ledger/copy/move-ledger.ts';
import { whyUnusable } from '../../../ledger/event-log/eventstoredb/connection-string.ts';
import { ledgerPlace } from '../../../ledger/event-log/ledger-place.ts';
import { endFile } from '../../../ledger/event-log/sqlite/end-file.ts';
import { readClaims, standingOf } from '../../../ledger/forms/claims.ts';
import { type LedgerState, readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { movePrefix } from '../../../ledger/identity/stream-prefix.ts';
import { assertInNoBackup } from '../../../ledger/in-no-backup.ts';
import { lastEvent } from '../../../ledger/last-event.ts';
import { LEDGER_FILE, namedInConfiguration } from '../../../ledger/ledger-file.ts';
import { syncFolder } from '../../../ledger/sync-folder.ts';
import { nameArgument, streamPrefixArgument } from '../command-arguments.ts';
import {
  assertClockRight,
  type CommandCall,
  type CommandContext,
  CommandError,
  EXIT,
  recordingOf,
  withUnprovenLog,
} from '../command-context.ts';
import { ledgerFile, openLogAt } from '../open-event-log.ts';
import { Progress } from '../progress.ts';
import { show } from '../show.ts';
import { assertNothingLeft, type LeftBehind, leftBehind, proxiesBeside } from './left-behind.ts';

interface CopyCommandOptions {
  readonly to: string;
  readonly streamPrefix: string;
  readonly copyOnly?: true;
  readonly gone: readonly string[];
}

/** `gateway ledger copy`: the ledger in another log, and that in the place of this one. */
export function addCopyCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('copy')
    .description(
      'copy the ledger to another log, compare every event, check its seals, and move it there: the ledger as it is ends with an' +
        ' event that says where it went, and nobody writes to it any more. The gateway may run until then. Interrupted, it is run again',
    )
    .requiredOption(
      '--to <place>',
      'esdb://… of an event store, env:NAME of a variable that has it, or a new ledger.db in a data folder',
    )
    .option(
      '--stream-prefix <prefix>',
      'what the names of its streams begin with in the event store, as gateway-',
      streamPrefixArgument,
      '',
    )
    .option(
      '--copy-only',
      'copy and compare what is there by now, and leave the ledger where it is; run again without it later',
    )
    .option(
      '--gone <proxy>',
      'out of an event store: a proxy whose machine is gone for good is not waited for (again for more)',
      (name: string, before: readonly string[]) => [...before, nameArgument(name)],
      [],
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger copy --to env:EVENTSTOREDB_URL --copy-only\n  gateway ledger copy --to env:EVENTSTOREDB_URL' +
        '\n  gateway ledger copy --to data/ledger.db',
    )
    .action(async (options: CopyCommandOptions, command: Command) => {
      await withUnprovenLog(context, command, (log, configuration) =>
        copy(options, { log, configuration, call: { command, context } }),
      );
    });
}

interface Copying {
  readonly log: EventLog;
  readonly configuration: Configuration;
  readonly call: CommandCall;
}

async function copy(options: CopyCommandOptions, { log, configuration, call }: Copying): Promise<void> {
  const { context, command } = call;
  const { moved, identity } = await readLedgerState(log);
  if (moved === null) {
    const { error } = await context.proveLedger(log, configuration);
    if (error !== null) throw error;
    await assertClockRight(context, command, { log, configuration });
  }
  const to = targetOf(options, { ...configuration, moved }, context);
  const { gone } = options;
  const leaving = { configuration, identity, file: to.file };
  if (moved === null && options.copyOnly !== true) assertNothingLeft(leaving);
  const target = await to.open();
  try {
    const progress = new Progress(context, 'events');
    const head = (await log.headPosition()) ?? 1;
    const told = progressOf(progress, head);
    const copied = await copyLedger(
      { log, end: endOf(configuration, log) },
      { log: target, place: to.place, isShared: to.file === null },
      {
        recording: () => recordingOf(context),
        onCopied: told,
        onCompared: ({ position }) => told(1, position),
        move:
          options.copyOnly === true
            ? null
            : {
                beforeEnd: async () => {
                  await assertNobodyServes(log, configuration, gone);
                  // Whoever served until now may have left something.
                  assertNothingLeft(leaving);
                },
                beforeArrival: async ({ relays }) => {
                  // Loaded here, for it brings the driver of Kafka.
                  const { carryRelays } = await import('../../../ledger/copy/carry-relays.ts');
                  await carryRelays(log, target, {
                    ...{ relays, clock: context.clock },
                    onWait: (relay) =>
                      context.warn(`the claim of the relay ${relay} is waited for, until it is over\n`),
                  });
                  if (to.streamPrefix !== null) movePrefix(configuration.data, to.streamPrefix);
                },
              },
      },
    ).finally(() => progress.end());
    await target.close();
    if (copied.hasMoved && to.file !== null) putInPlace(to.file);
    const proxies = to.file === null ? [] : await proxiesBeside(log, [configuration.data, dirname(to.file)]);
    const left = { ...leftBehind(leaving), proxies: proxies.filter((proxy) => !gone.includes(proxy)) };
    show(context, command, {
      json: { ...copied, to: to.place, left },
      text: textOf(copied, left, { to, configuration }),
    });
  } catch (error) {
    throw error instanceof CopyError ? new CommandError(error.message, EXIT.refused) : error;
  } finally {
    await target.close();
  }
}

/**
 * A file ends for whoever has it open. An event store cannot refuse what comes behind an event of another stream, and what a
 * proxy settles there later would be nowhere. @throws CommandError
 */
async function assertNobodyServes(log: EventLog, configuration: Configuration, gone: readonly string[]): Promise<void> {
  if (configuration.eventLog.kind === 'sqlite') return;
  const { live } = standingOf(await readClaims(log), {});
  const names = live.map(({ proxy }) => proxy);
  const unknown = gone.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new CommandError(`${unknown}: there is no live claim of such a proxy`, EXIT.refused);
  const left = names.filter((name) => !gone.includes(name));
  if (left.length > 0)
    throw new CommandError(
      `everything is copied, and the ledger is where it was: ${left.join(', ')} may still serve from it. Stop every gateway in order, ` +
        'with its journal empty, then run this again; --gone leaves out one whose machine is gone for good, with its journal',
      EXIT.refused,
    );
}

interface Target {
  readonly place: string;
  /** Null in an event store. */
  readonly file: string | null;
  /** Null in a file. */
  readonly streamPrefix: string | null;
  readonly open: () => Promise<EventLog>;
}

const PARTIAL = '.partial';

function targetOf(
  { to, streamPrefix }: CopyCommandOptions,
  { data, eventLog, moved }: Pick<Configuration, 'data' | 'eventLog'> & Pick<LedgerState, 'moved'>,
  { environment }: CommandContext,
): Target {
  const variable = to.startsWith('env:') ? to.slice('env:'.length) : null;
  const named = variable === null ? to : (environment[variable] ?? '');
  if (named === '')
    throw new CommandError(`--to: ${variable === null ? 'names no place' : variableNotSet(variable)}`, EXIT.usage);
  // Of another scheme or behind a blank it is none that can be used, and never a file's path, which would be told.
  if (/^\s*[a-z][a-z0-9+.-]*:\/\//i.test(named)) {
    if (eventLog.kind === 'eventstoredb')
      throw new CommandError('the ledger is in an event store already: --to names a file', EXIT.usage);
    const why = whyUnusable(named);
    // What is given as it is may hold a password.
    const where = named === to ? '--to' : `--to ${to}`;
    if (why !== null) throw new CommandError(`${where}: the connection string cannot be used: ${why}`, EXIT.usage);
    const place = { kind: 'eventstoredb', connectionString: named, streamPrefix } as const;
    return { place: ledgerPlace({ eventLog: place, data }), file: null, streamPrefix, open: () => openLogAt(place) };
  }
  if (eventLog.kind === 'sqlite')
    throw new CommandError('the ledger is in a file already: --to names an event store (esdb://…)', EXIT.usage);
  if (streamPrefix !== '')
    throw new CommandError('--stream-prefix is for an event store: streams in a file have no prefix', EXIT.usage);
  const path = resolve(named);
  const file = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? join(path, LEDGER_FILE) : path;
  if (!existsSync(dirname(file))) {
    // Of what a variable holds nothing is told.
    const folder = variable === null ? ` ${dirname(file)}` : ' of that name';
    throw new CommandError(`--to ${to}: there is no folder${folder}`, EXIT.usage);
  }
  assertInNoBackup(file);
  // A program of before may have ended the ledger for a file of another name, and this alone finishes that.
  if (basename(file) !== LEDGER_FILE && moved?.to !== file)
    throw new CommandError(
      `--to ${to}: a gateway finds its ledger as ${LEDGER_FILE} in its data folder, and under no other name: ` +
        `--to names such a folder that is there, or ${LEDGER_FILE} in it`,
      EXIT.usage,
    );
  const isThere = existsSync(file);
  return {
    ...{ place: file, file, streamPrefix: null },
    open: () => openLogAt({ kind: 'sqlite', path: isThere ? file : file + PARTIAL }),
  };
}

/** How the source ends: a file refuses whatever comes then, by itself. */
function endOf(configuration: Configuration, log: EventLog): CopySource['end'] {
  const file = ledgerFile(configuration);
  if (file !== null) return async (expected, of) => endFile(file, { stream: LEDGER_STREAM, expected, of });
  return async (expected, of) => {
    const result = await log.append(LEDGER_STREAM, expected, [of(await lastEvent(log))]);
    return result.type === 'appended';
  };
}

function putInPlace(file: string): void {
  if (existsSync(file)) return;
  renameSync(file + PARTIAL, file);
  rmSync(`${file}${PARTIAL}-pair`, { force: true });
  syncFolder(dirname(file));
}

/** How many there will be is taken from positions, which may have any step. */
const progressOf = (progress: Progress, head: number) => {
  let count = 0;
  return (events: number, last: number): void => {
    count += events;
    if (events === 1 && count % 4_096 > 0) return;
    progress.add(events === 1 ? 4_096 : events, Math.round((count * head) / Math.max(1, Math.min(head, last))));
  };
};

function textOf(
  { ledgerId, events, seals, hasMoved }: CopiedLedger,
  { inFolder, proxies, keys }: LeftBehind & { readonly proxies: readonly string[] },
  { to: { place, file }, configuration: { data } }: { readonly to: Target; readonly configuration: Configuration },
): string {
  const compared = `the same in ${place}: ${counted(events, 'event')}, those of ${counted(seals, 'seal')} among them; the seals hold`;
  const left = [
    ...(inFolder.length === 0 ? [] : [`left in ${data}: ${inFolder.join(', ')}`]),
    ...(proxies.length === 0
      ? []
      : [`the log knows of ${proxies.join(', ')}, too, and not what is left in the data folders of these`]),
    ...(inFolder.length + proxies.length === 0
      ? []
      : [
          'what is left in a data folder (`gateway doctor` on it says it: requests in its journal, who is parked) is not in that place: a backup',
          'of that, which `gateway ledger restore --from-journal` makes a data folder of, together with such a one, has it',
        ]),
    ...keys.map(({ use, name }) => `to be put back by hand: ${name} (${use})`),
  ];
  if (!hasMoved)
    return [
      compared,
      ...left,
      'next: the same without --copy-only, which goes on from there and moves the ledger; until then that place serves nobody',
    ].join('\n');
  return [
    compared,
    `the ledger ${ledgerId} is there now, and nothing more is written where it was`,
    ...left,
    `next: name ${namedInConfiguration(place)},`,
    file === null
      ? 'and start gateways and relays again, each gateway on its data folder: what is in its journal is settled there'
      : `and start a gateway and relays again: what is in the journal of ${dirname(file)} is settled there`,
  ].join('\n');
}

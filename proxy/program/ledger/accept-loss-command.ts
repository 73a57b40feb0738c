import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { onOneLine } from '../../../contracts/printable.ts';
import { ledgerPlace } from '../../../ledger/event-log/ledger-place.ts';
import { acceptLoss, nextGeneration } from '../../../ledger/identity/accept-loss.ts';
import type { LedgerComparison } from '../../../ledger/identity/compare-ledger.ts';
import { describeLost } from '../../../ledger/identity/ledger-lost.ts';
import type { LedgerState } from '../../../ledger/identity/ledger-state.ts';
import { findUnsettleable, type UnsettleableRequest } from '../../../ledger/identity/unsettleable.ts';
import { LOCK_FILE } from '../../../ledger/journal/folder-lock.ts';
import { JournalError } from '../../../ledger/journal/journal-error.ts';
import { type OpenedJournal, openJournal } from '../../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { UnreadableFileError } from '../../../ledger/unreadable-file.ts';
import {
  type AllToDoAgain,
  type AllToDoAgainOptions,
  findAllToDoAgain,
} from '../../../projections/after-loss/all-to-do-again.ts';
import { describeToDoAgain } from '../../../projections/after-loss/describe-to-do-again.ts';
import { type EnteredGeneration, enterGeneration } from '../../../projections/after-loss/enter-generation.ts';
import { readKeptLockouts } from '../../../projections/after-loss/kept-lockouts.ts';
import { findSettling } from '../../../projections/after-loss/settles-by-itself.ts';
import { toDoAgainFile, writeToDoAgain } from '../../../projections/after-loss/to-do-again-file.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { readFolder } from '../../../projections/read-folder.ts';
import { reasonArgument } from '../command-arguments.ts';
import {
  assertClockRight,
  type CommandContext,
  CommandError,
  EXIT,
  recordingOf,
  withUnprovenLog,
} from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { show } from '../show.ts';
import { compareWithTopic } from './compare-with-topic.ts';

/** What was given up and taken over, as the command shows it. */
interface Accepted {
  readonly identity: LedgerIdentity;
  /** Null where an earlier run of the command, or of another data folder's, has accepted it. */
  readonly lost: readonly string[] | null;
  /** Other streams of which it cannot be told. */
  readonly untold: number;
  readonly requests: readonly UnsettleableRequest[];
  readonly entered: EnteredGeneration;
  /** What only an operator can do again; null where there are no views to know it by. */
  readonly toDoAgain: AllToDoAgain | null;
  /** Where that stands, too: what is printed may be lost, and cannot be had again. */
  readonly toDoAgainFile: string | null;
}

/** `gateway ledger accept-loss`: goes on with a ledger that lacks what was known of it. */
export function addAcceptLossCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('accept-loss')
    .description(
      'give up what the ledger lacks of what this data folder knows of it, so that the gateway starts again. The lost range' +
        ' is written into the ledger, a new generation of it begins, views are made anew, and keys and accounts that' +
        ' only the folder knows as revoked or suspended stay so. The gateway on this data folder must not be running',
    )
    .requiredOption('--reason <text>', 'why; it stands in the ledger', reasonArgument)
    .addHelpText(
      'after',
      '\nExample:\n  gateway ledger accept-loss --reason "disk lost, restored from Tuesday\'s backup"',
    )
    .action(async ({ reason }: { readonly reason: string }, command: Command) => {
      await withUnprovenLog(context, command, async (log, configuration) => {
        await assertClockRight(context, command, { log, configuration });
        const accepted = await accept(log, configuration, context, reason);
        show(context, command, {
          json: jsonOf(accepted, reason),
          text: textOf(accepted, (...command) => nextCommand(startedWithOf(context), ...command)),
        });
      });
    });
}

async function accept(
  log: EventLog,
  configuration: Configuration,
  context: CommandContext,
  reason: string,
): Promise<Accepted> {
  const directory = journalFolder(configuration.data);
  if (!existsSync(configuration.data))
    throw new CommandError(`${configuration.data}: there is no such data folder`, EXIT.usage);
  const { journal, recovered } = await openAlone(directory, configuration.data);
  try {
    const nowMs = context.clock();
    const folder = readFolder(configuration.data, recovered, nowMs);
    if (folder.viewsDamage !== null) throw unreadableViews(configuration.data, folder.viewsDamage);
    const { comparison, known } = await compareWithTopic(log, { folder, configuration }, (reason) =>
      context.warn(`warning: ${reason}\n`),
    );
    if (comparison.type === 'other ledger' || comparison.type === 'elsewhere') throw comparison.error;
    if (comparison.type === 'whole') throw nothingLost(configuration, comparison.state);
    const requests = await findUnsettleable(log, recovered, nowMs);
    const isBegun = comparison.type === 'later generation';
    const generation = isBegun ? comparison.identity.generation : nextGeneration(comparison.state, known);
    const unsettleable = new Set(requests.map(({ requestId }) => requestId));
    const left = recovered.filter(({ requestId }) => !unsettleable.has(requestId));
    const settling = await findSettling(log, left, nowMs);
    // What cannot be read is told before anything is given up, not in the middle of going over.
    readKeptLockouts(configuration.data);
    const toDo = await noteToDoAgain(log, { dataFolder: configuration.data, generation, nowMs, settling });
    const identity = isBegun
      ? comparison.identity
      : await append(log, comparison, { known, requests, reason, nowMs, context });
    const entered = await enterGeneration({
      log,
      dataFolder: configuration.data,
      journal,
      recovered,
      unsettleable: requests,
      identity,
      nowMs,
      actor: recordingOf(context).actor,
    });
    const lost = comparison.type === 'lost' ? comparison.lost.map(describeLost) : null;
    const untold = comparison.type === 'lost' ? comparison.untold : 0;
    return { identity, lost, untold, requests, entered, ...toDo };
  } finally {
    await journal.close();
  }
}

/** They may be all that knows who was refused, and what is lost. */
const unreadableViews = (dataFolder: string, damage: string): UnreadableFileError =>
  new UnreadableFileError(
    `${join(dataFolder, VIEWS_FILE)} cannot be read as views (${damage}), and may know who was refused and what is lost; ` +
      'put it back, or move it away to go on without what it knows',
  );

/** Before anything is given up. @throws CommandError where it cannot be written */
async function noteToDoAgain(log: EventLog, options: AllToDoAgainOptions) {
  const { dataFolder, generation } = options;
  const toDoAgain = await findAllToDoAgain(log, options);
  if (toDoAgain === null) return { toDoAgain, toDoAgainFile: null };
  try {
    return { toDoAgain, toDoAgainFile: writeToDoAgain(dataFolder, generation, toDoAgain) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `what will be left to be done again cannot be written down, and nothing was done: ${reason}`,
      EXIT.unavailable,
    );
  }
}

/** Run a second time it tells where the first has written what it printed. */
function nothingLost(configuration: Configuration, { identity }: LedgerState): CommandError {
  const file = identity === null ? null : toDoAgainFile(configuration.data, identity);
  const before = file === null ? '' : `\nWhat the last loss has left to be done again is in ${file}`;
  return new CommandError(
    `the ledger (${ledgerPlace(configuration)}) has everything that is known of it: nothing is lost${before}`,
    EXIT.refused,
  );
}

/** The journal's lock is the folder's: no gateway runs on it meanwhile. @throws CommandError where one does */
async function openAlone(directory: string, dataFolder: string): Promise<OpenedJournal> {
  try {
    return await openJournal({ directory });
  } catch (error) {
    if (!(error instanceof JournalError) || error.kind !== 'in_use') throw error;
    throw new CommandError(
      `a gateway is running on ${dataFolder} (it holds the lock ${join(directory, LOCK_FILE)}): stop it, then run this again`,
      EXIT.unavailable,
    );
  }
}

interface AppendParts {
  readonly known: LedgerIdentity | null;
  readonly requests: readonly UnsettleableRequest[];
  readonly reason: string;
  readonly nowMs: number;
  readonly context: CommandContext;
}

async function append(
  log: EventLog,
  { state, lost, untold }: Extract<LedgerComparison, { type: 'lost' }>,
  { context, ...parts }: AppendParts,
): Promise<LedgerIdentity> {
  const identity = await acceptLoss(log, { ...parts, state, lost, untold, recording: recordingOf(context) });
  if (identity === null)
    throw new CommandError('another process has written which ledger this is in between; run it again', EXIT.refused);
  return identity;
}

const jsonOf = (
  { identity, lost, untold, requests, entered, toDoAgain, toDoAgainFile }: Accepted,
  reason: string,
): unknown => ({
  ...identity,
  reason,
  lost,
  untold,
  lostRequests: requests.map(({ requestId, accountId, cause }) => ({ requestId, accountId, cause })),
  ...entered,
  toDoAgain,
  toDoAgainFile,
});

/** @param typed a command as it is to be typed */
function textOf(
  { identity, lost, untold, requests, entered, toDoAgain, toDoAgainFile }: Accepted,
  typed: (...command: readonly string[]) => string,
): string {
  const { revokedKeys, rotatedKeys, suspended, setAside, viewsSetAside, requestsSetAside } = entered;
  return [
    `generation ${identity.generation} of ${identity.ledgerId} has begun`,
    ...saysGivenUp(lost),
    ...(untold === 0 ? [] : [`of ${untold} other streams it cannot be told whether they have lost events, too`]),
    ...revokedKeys.map(({ accountId, keyId }) => `revoked again: ${keyId} of ${accountId}`),
    ...rotatedKeys.map(({ accountId, keyId }) => `revoked, because its rotation is lost: ${keyId} of ${accountId}`),
    ...suspended.map((accountId) => `suspended again: ${accountId}`),
    ...setAside.map(saysNotRefused),
    ...saysToDoAgain(toDoAgain, toDoAgainFile, typed),
    ...requests.map(({ requestId, accountId, cause }) => `not billed: ${requestId} of ${accountId}, ${cause}`),
    ...(requestsSetAside === null
      ? []
      : [
          `their journal texts are in ${requestsSetAside}: for whoever bills them by other means; nothing reads the file`,
        ]),
    ...(viewsSetAside === null ? [] : [`the views of before are in ${viewsSetAside}: to look up what was lost`]),
    '',
    `next: ${mayCharge(toDoAgain) ? 'what is listed of plans and payments, in its order, and then ' : ''}${typed('gateway', 'serve')}`,
  ].join('\n');
}

/** A gateway renews, and charges, a plan whose end is lost, or what ended it: that its money went back; and reloads what was switched off. */
const mayCharge = (toDoAgain: AllToDoAgain | null): boolean =>
  toDoAgain !== null &&
  [toDoAgain, ...toDoAgain.earlier].some(({ accounts }) =>
    accounts.some(({ plan, payments }) => plan !== null || payments !== null),
  );

function saysGivenUp(lost: Accepted['lost']): string[] {
  if (lost === null) return ['the loss was accepted before; this data folder follows'];
  if (lost.length === 0)
    return ['given up: no event that is known; what is there is of an earlier generation, or of none'];
  return ['given up:', ...lost.map((line) => `  ${line}`)];
}

/** For people: the rest of a long list is in its file, and in the answer for machines. */
const SHOWN_MAX = 200;

function saysToDoAgain(
  toDoAgain: AllToDoAgain | null,
  file: string | null,
  typed: Parameters<typeof textOf>[1],
): string[] {
  if (toDoAgain === null) return ['what is lost of accounts and prices is not known: there are no views of before'];
  const parts = [
    { title: 'lost, and to be done again or made good by hand:', lines: describeToDoAgain(toDoAgain, typed) },
    ...toDoAgain.earlier.map((earlier) => ({
      title:
        `lost, too, and known from before generation ${earlier.beforeGeneration} only; what was done again since under` +
        ' other names or ids stands above, or is there:',
      lines: describeToDoAgain(earlier, typed),
    })),
  ].filter(({ lines }) => lines.length > 0);
  if (parts.length === 0) return [];
  return [
    ...parts.flatMap(({ title, lines }) => [
      title,
      ...lines.slice(0, SHOWN_MAX).map((line) => `  ${line}`),
      ...(lines.length > SHOWN_MAX ? [`  and ${lines.length - SHOWN_MAX} more`] : []),
    ]),
    `all of that is in ${file}, as JSON; nothing reads the file`,
  ];
}

function saysNotRefused({
  accountId,
  whyAside,
  revokedKeys,
  rotatedKeys,
  suspended,
}: EnteredGeneration['setAside'][number]): string {
  const refused = [
    ...revokedKeys.map((key) => `key ${key} was revoked`),
    ...rotatedKeys.map((key) => `key ${key} was rotated`),
    ...(suspended === null ? [] : [`the account was suspended (${onOneLine(suspended)})`]),
  ];
  return `to be seen to once ${accountId} is not set aside any more (${onOneLine(whyAside)}): ${refused.join(', ')}`;
}

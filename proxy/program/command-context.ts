import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { Configuration } from '../../contracts/configuration.ts';
import type { Recording } from '../../contracts/event-codec.ts';
import { type EventLog, isLogAway } from '../../contracts/event-log.ts';
import { type Actor, nameOfActor, SYSTEM } from '../../contracts/permissions.ts';
import { type ToldTo, toldTo } from '../../ledger/account/words-for-accounts.ts';
import { ledgerPlace } from '../../ledger/event-log/ledger-place.ts';
import { ACCEPT_LOSS, type LedgerLostError } from '../../ledger/identity/ledger-lost.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { CommandError, EXIT } from './command-error.ts';
import { readConfiguration } from './configuration/read-configuration.ts';
import { assertLedgerKnown, assertLedgerThere, beginLedger } from './ledger-file.ts';
import { nextCommand, type StartedWith, startedWithOf } from './next-command.ts';

export { CommandError, EXIT };

/** What commands work with. The adapters are built where the program is built. */
export interface CommandContext {
  /**
   * Opens the configured log. A command needs it and waits for what its start check says; a gateway (a follower) starts
   * without it, too, and is told later. @throws EventLogError when a command cannot reach it, or may not use it
   */
  readonly openEventLog: (configuration: Configuration, use?: LogUse) => Promise<EventLog>;
  /** How the log compares with what the data folder knows of its ledger. @throws EventLogError; UnreadableFileError */
  readonly proveLedger: (log: EventLog, configuration: Configuration) => Promise<ProvenLedger>;
  /** Why nothing may be written by the clock of this machine; null where it may. @throws EventLogError */
  readonly compareClock: (log: EventLog, configuration: Configuration) => Promise<string | null>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: () => number;
  /** Of the system, whose process this is; absent where it has no name. */
  readonly user?: string;
  /** Who gives this command line's commands, where that is said; else it is the system's user. */
  readonly actor?: () => Actor | null;
  /** Who is told what this command line says, where another one does what it asks for. Absent: who does it. */
  readonly toldTo?: () => ToldTo;
  /** The program's command, once it is made. Absent: there is no command line. */
  readonly line?: () => Command | undefined;
  /** What this command line has said of its ledger, for those that are to be typed next. Absent: nothing. */
  readonly startedWith?: () => StartedWith;
  readonly write: (text: string) => void;
  /**
   * Writes text as it is, with colours: what others have written stands in it only as `plainTable` has made it printable.
   * Absent where no colours are shown: no terminal, or one without (NO_COLOR).
   */
  readonly writePainted?: (text: string) => void;
  /**
   * Writes a data format as it is, for programs: line ends and stored bytes count. On a terminal nothing of others in it commands.
   * Absent: `write` writes everything so.
   */
  readonly writeData?: (text: string) => void;
  /** How wide the terminal is that answers are written to; absent where they go elsewhere. */
  readonly columns?: number;
  /** What is no answer, and must be seen beside it. */
  readonly warn: (text: string) => void;
  /** Where long work is told of while it goes on. Absent: nowhere. */
  readonly progressStream?: NodeJS.WriteStream;
  /**
   * What the program cannot go on after is known, and its work is about to be closed: from here on its end is bounded by
   * `LIMITS.fatalEndMs`, whatever does not close. The first to tell is heard; it is said once, when the program ends.
   */
  readonly onEnding?: (error: unknown) => void;
  /**
   * From here on the exit code is a verdict, and a reader who has seen enough does not make it a 0: it ends the command with
   * this code, or with null not at all. With words the answer is shown once, and lost where it cannot be written: they say the way out.
   */
  readonly whenUnread?: (exitCode: number | null, lost?: string) => void;
  /** From here on what others on the machine do comes before this process's work. Absent where the program is not the process. */
  readonly giveWay?: () => void;
  /** Ends the process at once. Absent where the program is not the process: then nothing bounds its end. */
  readonly leave?: (exitCode: number) => void;
}

/** The program's command, and what it works with. */
export interface CommandCall {
  readonly command: Command;
  readonly context: CommandContext;
}

export interface ProvenLedger {
  /** The ledger has all that is known of it, in its generation: what the folder keeps of it can be used. */
  readonly isWhole: boolean;
  /** Why nothing may be written into it, in the words in which a gateway refuses to serve from it; null where it may. */
  readonly error: LedgerLostError | null;
  /** In a few words, where it is the ledger that is known and lacks a part of it. */
  readonly lost?: string;
  /** What else is amiss in the folder, and how it is met. */
  readonly warning?: string;
}

/** A program that stays up whatever becomes of the log. */
export interface LogFollower {
  readonly logger: Logger;
  /** What is wrong with the log or with what it lets this program do, one line each; each says what to mend. */
  readonly onFaults: (faults: readonly string[]) => void;
  /** Nothing can be read from the log, or written to it, by this process any more; one that starts may. */
  readonly onLost: (error: Error) => void;
}

/** By a command that appends nothing, or by a program that stays up; else by a command that may append. */
export type LogUse = 'reads only' | LogFollower;

type LogWork<T> = (log: EventLog, configuration: Configuration) => Promise<T>;

/** Options that every command takes; commander puts those of the program and of the command together. */
interface GlobalOptions {
  /** Who does it, as it stands in the ledger; and a member of the account, in whose name and with whose rights. */
  readonly actor?: string;
  readonly as?: string;
  readonly config?: string;
  readonly data?: string;
  readonly json?: boolean;
  /** Writes though the ledger disagrees with the clock of this machine. */
  readonly trustClock?: boolean;
  /** No option: what was read for this command line, once, for a pipe can be read once. */
  readonly configuration?: Configuration;
}

export const globalOptions = (command: Command): GlobalOptions => command.optsWithGlobals();

export function configurationOf(context: CommandContext, command: Command): Configuration {
  const { environment } = context;
  const { data, configuration } = globalOptions(command);
  if (configuration !== undefined) return configuration;
  const file = configurationFile(context, command);
  const read = readConfiguration({ file, data, environment, callsProviders: false });
  lineOf(command).setOptionValue('configuration', read);
  return read;
}

/** The program's own command, whose options are those of the whole line. */
const lineOf = (command: Command): Command => (command.parent === null ? command : lineOf(command.parent));

/** What has been read for this command line; null before that. */
export const configurationOfLine = ({ line }: CommandContext): Configuration | null => {
  const command = line?.();
  return command === undefined ? null : (globalOptions(command).configuration ?? null);
};

/** The option's, else the variable's, which says nothing where it is empty; null where there is neither. */
export function configurationFile({ environment }: CommandContext, command: Command): string | null {
  const { GATEWAY_CONFIG: variable = '' } = environment;
  return globalOptions(command).config ?? (variable === '' ? null : variable);
}

/**
 * Opens the log for one piece of work and closes it whatever happens. Refuses where a gateway would not serve from this
 * ledger: what is written into one that is lost is lost, too; by a clock that it would not admit by; and where nobody is
 * known to do it. @throws LedgerLostError; CommandError
 */
export async function withEventLog<T>(context: CommandContext, command: Command, work: LogWork<T>): Promise<T> {
  assertActorKnown(context);
  assertLedgerThere(configurationOf(context, command));
  return withProvenLog(context, command, work);
}

/**
 * The same for the few commands that begin something: where there is no ledger, and none is known of, they make the
 * folder and the ledger, and say that they did. @throws as `withEventLog`; Error of the file system
 */
export async function withBegunLog<T>(context: CommandContext, command: Command, work: LogWork<T>): Promise<T> {
  assertActorKnown(context);
  const begun = beginLedger(configurationOf(context, command));
  const say = (where: string): void => context.warn(`a new ledger was begun: ${where}\n`);
  return withProvenLog(context, command, async (log, configuration) => {
    if (begun !== null) say(begun);
    // What is in no file of its own is begun by its first event.
    const isBegun = begun === null && (await log.headPosition()) === null;
    const done = await work(log, configuration);
    if (isBegun) say(ledgerPlace(configuration));
    return done;
  });
}

async function withProvenLog<T>(context: CommandContext, command: Command, work: LogWork<T>): Promise<T> {
  return aroundLog(context, command, async (log, configuration) => {
    const { error, warning } = await context.proveLedger(log, configuration);
    if (error !== null) throw error;
    if (warning !== undefined) warnOperator(context, warning);
    await assertClockRight(context, command, { log, configuration });
    const done = await work(log, configuration);
    await assertStillHere(context, log, configuration);
    return done;
  });
}

/** A file refuses what comes behind its last event; an event store takes it, and a copy may be behind that by then. @throws CommandError */
async function assertStillHere(context: CommandContext, log: EventLog, configuration: Configuration): Promise<void> {
  if (configuration.eventLog.kind === 'sqlite') return;
  const { whyElsewhere } = await import('../../ledger/identity/compare-ledger.ts');
  const { readLedgerState } = await import('../../ledger/identity/ledger-state.ts');
  const elsewhere = whyElsewhere(ledgerPlace(configuration), await readLedgerState(log));
  if (elsewhere === null) return;
  throw new CommandError(
    `${toldOfLedger(context, elsewhere.message)}\nThat was while this command was at work: whether what it has done is there, look before you repeat it.`,
    EXIT.refused,
  );
}

/** What is written by a wrong clock is wrong for good: it begins, ends and expires by it. @throws CommandError */
export async function assertClockRight(
  context: CommandContext,
  command: Command,
  { log, configuration }: { readonly log: EventLog; readonly configuration: Configuration },
): Promise<void> {
  if (globalOptions(command).trustClock === true) return;
  const disagreement = await context.compareClock(log, configuration);
  if (disagreement === null) return;
  throw new CommandError(
    `${disagreement}: nothing is written by it. It says ${instantOf(context)}.\n` +
      'Set the clock, then run this again; or, if it is the ledger whose time is wrong, run it with --trust-clock.',
    EXIT.refused,
  );
}

/** For work that writes nothing: a lost ledger is shown, with a warning; no file is made. @throws CommandError */
export async function withReadLog<T>(
  context: CommandContext,
  command: Command,
  work: (log: EventLog, configuration: Configuration, ledger: ProvenLedger) => Promise<T>,
): Promise<T> {
  assertLedgerThere(configurationOf(context, command));
  const reading = async (log: EventLog, configuration: Configuration): Promise<T> => {
    const ledger = await context.proveLedger(log, configuration);
    if (ledger.warning !== undefined) warnOperator(context, ledger.warning);
    if (ledger.error !== null) context.warn(`warning: ${toldOfLedger(context, ledger.error.message)}\n`);
    return work(log, configuration, ledger);
  };
  return aroundLog(context, command, reading, 'reads only');
}

/**
 * The same for work that can do without: where the log does not answer that is said, with what is not known then, and the work is begun
 * again without it. @throws as `withReadLog`
 */
export async function withReadLogIfThere<T>(
  context: CommandContext,
  command: Command,
  {
    work,
    unknown,
  }: { readonly work: (log: EventLog | null, ledger: ProvenLedger | null) => Promise<T>; readonly unknown: string },
): Promise<T> {
  const onEnding = (error: unknown): void => {
    if (!isLogAway(error)) context.onEnding?.(error);
  };
  try {
    return await withReadLog({ ...context, onEnding }, command, (log, _configuration, ledger) => work(log, ledger));
  } catch (error) {
    if (!isLogAway(error)) throw error;
    context.warn(`warning: ${error.message}: ${unknown}\n`);
    return work(null, null);
  }
}

/** The same for work that looks itself at which ledger this is, also where its file is gone. @throws CommandError */
export async function withUnprovenLog<T>(context: CommandContext, command: Command, work: LogWork<T>): Promise<T> {
  assertActorKnown(context);
  assertLedgerKnown(configurationOf(context, command));
  return aroundLog(context, command, work);
}

async function aroundLog<T>(
  context: CommandContext,
  command: Command,
  work: LogWork<T>,
  use?: 'reads only',
): Promise<T> {
  const configuration = configurationOf(context, command);
  const log = await context.openEventLog(configuration, use);
  try {
    return await work(log, configuration);
  } catch (error) {
    context.onEnding?.(error);
    throw error;
  } finally {
    await log.close();
  }
}

const UNRELIABLE = 'the ledger cannot be relied on now: an operator has to look';

/** What is wrong with the ledger, or with what is kept of it: its words may be of any account, and a member learns that it is so alone. */
export const toldOfLedger = (context: CommandContext, words: string): string =>
  readerOf(context) === 'operator'
    ? words.replace(ACCEPT_LOSS.join(' '), () => nextCommand(startedWithOf(context), ...ACCEPT_LOSS))
    : UNRELIABLE;

/** The same where the answer is right all the same: a member is told nothing. */
export function warnOperator(context: CommandContext, words: string): void {
  if (readerOf(context) === 'operator') context.warn(`warning: ${words}\n`);
}

/** Who reads what this command line says. */
export const readerOf = (context: CommandContext): ToldTo => context.toldTo?.() ?? toldTo(actorOf(context));

/** Who reads needs no name. */
export const actorOf = (context: CommandContext): Actor =>
  knownActor(context) ?? { type: 'operator', name: 'operator' };

/** A command that is given now, by whom it is. @throws CommandError where that is not known */
export function recordingOf(context: CommandContext): Recording {
  const actor = knownActor(context);
  if (actor === null)
    throw new CommandError('the system’s user has no name: say who does this with --actor NAME', EXIT.usage);
  return recordingBy(nameOfActor(actor), context.clock());
}

/** Before anything is done of which it could not be written by whom. @throws CommandError */
function assertActorKnown(context: CommandContext): void {
  recordingOf(context);
}

/** What the gateway writes by itself, whoever has asked, and is told of it: what a provider has said. */
export const bySystem = (context: CommandContext): CommandContext => ({
  ...context,
  actor: () => SYSTEM,
  toldTo: () => readerOf(context),
});

/** Null where nobody is named and the system's user has no name. */
const knownActor = ({ actor, user }: CommandContext): Actor | null =>
  actor?.() ?? (user === undefined ? null : { type: 'operator', name: user });

const instantOf = (context: CommandContext): string => new Date(context.clock()).toISOString();

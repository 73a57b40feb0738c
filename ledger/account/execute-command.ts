import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import { type EventLog, isLogAway } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, type Position, type Revision } from '../../contracts/ids.ts';
import type { Actor } from '../../contracts/permissions.ts';
import { TIMING, type Timing } from '../timing.ts';
import { type AccountRepository, catchUpAccount, foldAppended, unlessAside } from './account-repository.ts';
import type { AccountState } from './account-state.ts';
import { decideAs } from './authorize.ts';
import type { AccountCommand, CommandRefusal } from './commands.ts';
import { ConflictsError } from './conflicts-error.ts';
import { type AccountSnapshot, loadAccount } from './load-account.ts';

/** Appends without an answer, or refused by a log that is away. */
const ATTEMPTS_MAX = 10;
/**
 * Appends that others came before: on an account that a busy gateway writes to all the time each has a chance, and on a slow
 * machine a small one.
 */
const CONFLICTS_MAX = 30;
const BACKOFF_MS = 20;
const BACKOFF_MAX_MS = 200;

export type CommandResult =
  | {
      readonly type: 'done';
      readonly events: readonly AccountEvent[];
      /** The state that the command was decided on. */
      readonly before: AccountState;
      /** Of `before`: the events follow it. */
      readonly after: Revision;
      readonly revision: Revision;
      /** Of the last event; null when nothing had to be written. */
      readonly position: Position | null;
    }
  | CommandRefusal;

/** Why what was decided on an account is not to be appended, by what its events do not tell; null where nothing stands against it. */
export type WhyNot = (accountId: AccountId, decision: readonly AccountEvent[]) => CommandRefusal | null;

export interface HowCarriedOut {
  readonly timing?: Timing;
  /** Asked of each decision before its append. */
  readonly whyNot?: WhyNot | undefined;
  /** Asked before what has failed is tried again. */
  readonly isWanted?: () => boolean;
}

/**
 * Loads an account, looks whether the actor may, decides, appends at the expected revision; on a conflict loads what is new and decides again.
 * After an ambiguous failure the same ids find out whether it was written.
 * @throws EventLogError when the log stays away; ConflictsError when conflicts do not end within the bound;
 *   AccountUnreadableError where an event of the account cannot be read: nothing is appended to what is not known.
 */
export async function executeCommand(
  log: EventLog,
  accountId: AccountId,
  command: AccountCommand,
  actor: Actor,
  recording: Recording,
  how: HowCarriedOut = {},
): Promise<CommandResult> {
  return executeFrom(log, await loadAccount(log, accountId), accountId, command, actor, recording, how);
}

/** The same on an account that was read before: of commands one after another, each on what the one before has left. */
export async function executeFrom(
  log: EventLog,
  from: AccountSnapshot,
  accountId: AccountId,
  command: AccountCommand,
  actor: Actor,
  recording: Recording,
  how: HowCarriedOut = {},
): Promise<CommandResult> {
  let snapshot = from;
  return decideAndAppend(
    log,
    accountId,
    { command: () => command, actor, recording, how },
    {
      read: () => snapshot,
      catchUp: async () => {
        snapshot = await loadAccount(log, accountId, snapshot);
      },
    },
  );
}

/**
 * The same on the repository of this process, which has the account already: no read before the append, and what is appended
 * is in the repository when this resolves.
 * @param command where it is a function it is asked in the turn of each decision, so that it says what is so at the very
 *   revision that the decision is appended at.
 * @throws as `executeCommand`; AccountAsideError, also where this finds that the account's events cannot be relied on
 */
export async function executeOnRepository(
  log: EventLog,
  repository: AccountRepository,
  accountId: AccountId,
  command: AccountCommand | (() => AccountCommand),
  actor: Actor,
  recording: Recording,
  how: HowCarriedOut = {},
): Promise<CommandResult> {
  const commandNow = typeof command === 'function' ? command : () => command;
  return unlessAside(repository, accountId, async () => {
    const result = await decideAndAppend(
      log,
      accountId,
      { command: commandNow, actor, recording, how },
      {
        read: () => repository.read(accountId),
        catchUp: () => catchUpAccount(log, repository, accountId),
      },
    );
    if (result.type === 'done' && result.position !== null) {
      // An append whose first answer was lost may have others' events before it.
      if (repository.read(accountId).revision < result.after) await catchUpAccount(log, repository, accountId);
      foldAppended(repository, accountId, result.after, result.events);
    }
    return result;
  });
}

/** A command, who gives it, and what its events are recorded with. */
interface Given {
  readonly command: () => AccountCommand;
  readonly actor: Actor;
  readonly recording: Recording;
  readonly how: HowCarriedOut;
}

interface AccountSource {
  readonly read: () => AccountSnapshot;
  readonly catchUp: () => Promise<void>;
}

async function decideAndAppend(
  log: EventLog,
  accountId: AccountId,
  { command, actor, recording, how }: Given,
  source: AccountSource,
): Promise<CommandResult> {
  const { timing = TIMING, whyNot, isWanted } = how;
  for (let attempt = 1, conflicts = 0; ; ) {
    const { state: before, revision } = source.read();
    const decision = decideAs(actor, command(), before);
    if ('type' in decision) return decision;
    if (decision.length === 0) return { type: 'done', events: [], before, after: revision, revision, position: null };
    const refusal = whyNot?.(accountId, decision) ?? null;
    if (refusal !== null) return refusal;
    const proposed = encodeEvents(decision, recording);
    // An append that may have been written is repeated as it was, whatever has been learned of the account since.
    for (; ; attempt++) {
      const outcome = await log.append(accountStream(accountId), revision, proposed).catch((error: unknown) => {
        // The same append again is safe after either kind of failure; anything else is the caller's to see.
        const mayRetry = isLogAway(error) && attempt < ATTEMPTS_MAX && isWanted?.() !== false;
        if (mayRetry) return { type: 'unknown' } as const;
        throw error;
      });
      if (outcome.type === 'appended') {
        const { lastRevision, position } = outcome;
        return { type: 'done', events: decision, before, after: revision, revision: lastRevision, position };
      }
      if (outcome.type === 'conflict') break;
      await backOff(attempt, timing);
    }
    conflicts++;
    if (conflicts >= CONFLICTS_MAX) throw new ConflictsError(accountId, conflicts);
    // The first conflict only says that something is new.
    if (conflicts > 1) await backOff(conflicts, timing);
    await source.catchUp();
  }
}

const backOff = (attempt: number, { pause, random }: Timing): Promise<void> =>
  pause(Math.min(BACKOFF_MS * attempt, BACKOFF_MAX_MS) * (0.5 + random() / 2));

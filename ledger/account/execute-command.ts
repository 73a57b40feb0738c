import { setTimeout as delay } from 'node:timers/promises';
import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import { type EventLog, EventLogError } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, type Position, type Revision } from '../../contracts/ids.ts';
import type { AccountState } from './account-state.ts';
import type { AccountCommand, CommandRefusal } from './commands.ts';
import { decide } from './decide.ts';
import { type AccountSnapshot, loadAccount } from './load-account.ts';

const ATTEMPTS_MAX = 10;
const BACKOFF_MS = 20;

export type CommandResult =
  | {
      readonly type: 'done';
      readonly events: readonly AccountEvent[];
      /** The state that the command was decided on. */
      readonly before: AccountState;
      readonly revision: Revision;
      /** Of the last event; null when nothing had to be written. */
      readonly position: Position | null;
    }
  | CommandRefusal;

/**
 * Loads an account, decides, appends at the expected revision; on a conflict loads what is new and decides again.
 * After an ambiguous failure the same ids find out whether it was written.
 * @throws EventLogError when the log stays away; Error when conflicts do not end within the bound.
 */
export async function executeCommand(
  log: EventLog,
  accountId: AccountId,
  command: AccountCommand,
  recording: Recording,
  from?: AccountSnapshot,
): Promise<CommandResult> {
  let snapshot = await loadAccount(log, accountId, from);
  for (let attempt = 1; ; attempt++) {
    const decision = decide(command, snapshot.state);
    if ('type' in decision) return decision;
    const { state: before, revision } = snapshot;
    if (decision.length === 0) return { type: 'done', events: [], before, revision, position: null };
    const proposed = encodeEvents(decision, recording);
    const outcome = await log.append(accountStream(accountId), revision, proposed).catch(retryable(attempt));
    if (outcome.type === 'appended')
      return { type: 'done', events: decision, before, revision: outcome.lastRevision, position: outcome.position };
    if (attempt >= ATTEMPTS_MAX)
      throw new Error(`account ${accountId}: ${attempt} attempts conflicted with other writers; try again`);
    await delay(BACKOFF_MS * attempt * (0.5 + Math.random() / 2));
    if (outcome.type === 'conflict') snapshot = await loadAccount(log, accountId, snapshot);
  }
}

/** The same append again is safe after either kind of failure; anything else is the caller's to see. */
function retryable(attempt: number) {
  return (error: unknown): { readonly type: 'unknown' } => {
    if (error instanceof EventLogError && error.canRetry && attempt < ATTEMPTS_MAX) return { type: 'unknown' };
    throw error;
  };
}

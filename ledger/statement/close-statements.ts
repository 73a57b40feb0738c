import { decodeRecorded, encodeEvents } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { isAccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, type Revision, revision } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { microUsd } from '../../contracts/money.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import { evolveAt } from '../account/account-event.ts';
import { decideAs } from '../account/authorize.ts';
import type { AccountCommand, CommandOf, CommandRefusal } from '../account/commands.ts';
import { firstEndOf } from '../account/grants.ts';
import type { AccountSnapshot } from '../account/load-account.ts';
import { endOfMonthMs, lastMonthOver } from '../account/month.ts';
import { recordingBy } from '../recording-by.ts';
import { OpenMonths } from './open-months.ts';
import { isInStatements } from './statement-entries.ts';

interface ClosingTerms {
  /** How long after its end a month is closed. */
  readonly graceMs: number;
  readonly nowMs: number;
  readonly actor: string;
  /** Asked before each append. */
  readonly mayWrite: () => boolean;
}

export interface ClosedMonths {
  readonly closed: number;
  /** False where there is more to close, another time. */
  readonly isDone: boolean;
  /** What stands in the way of the next one; null where nothing does. */
  readonly heldUp: HeldUp | null;
}

export interface HeldUp {
  readonly month: string;
  readonly why: string;
}

/**
 * Closes those months of an account that are over and have events, or in which credits ended, one after the other; what the clock has
 * ended of their credit is written down before. Each is appended at the very revision that it was summed up to: of two that close the same one
 * finds it closed.
 * @param from what is known of the account
 * @throws UnreadableEventError, EventLogError; AccountUnreadableError
 */
export async function closeStatements(
  log: EventLog,
  accountId: AccountId,
  from: AccountSnapshot,
  terms: ClosingTerms,
): Promise<ClosedMonths> {
  const reading = new ReadAccount(log, accountId, from);
  const upTo = lastMonthOver(terms.nowMs - terms.graceMs);
  let closed = 0;
  for (let attempt = 0; attempt < LIMITS.statementAttemptsMax; attempt++) {
    await reading.catchUp();
    const { state } = reading.snapshot;
    const endMs = state.type === 'open' ? firstEndOf(state.grants) : null;
    const month = reading.months.firstUpTo(upTo, endMs);
    if (month === null) return { closed, isDone: true, heldUp: null };
    if (!terms.mayWrite()) break;
    const outcome = await decideAndAppend(reading, closing(reading, month, terms), terms);
    const lateMs = terms.nowMs - endOfMonthMs(month);
    const { refusal } =
      outcome.refusal?.code === 'not_written_off'
        ? await decideAndAppend(reading, { type: 'ExpireCredits', lateMs, nowMs: terms.nowMs }, terms)
        : outcome;
    if (refusal !== null) {
      const { message: why } = outcome.refusal ?? refusal;
      return { closed, isDone: false, heldUp: { month, why } };
    }
    if (outcome.isAppended) closed++;
  }
  return { closed, isDone: false, heldUp: null };
}

interface Outcome {
  /** False is a conflict, or refused. */
  readonly isAppended: boolean;
  readonly refusal: { readonly code: CommandRefusal['code'] | null; readonly message: string } | null;
}

async function decideAndAppend(
  { log, accountId, snapshot }: ReadAccount,
  command: AccountCommand,
  { actor, nowMs }: ClosingTerms,
): Promise<Outcome> {
  const decision = decideAs(SYSTEM, command, snapshot.state);
  if ('type' in decision) return { isAppended: false, refusal: decision };
  if (decision.length === 0) return { isAppended: false, refusal: NOTHING_WRITTEN };
  const events = encodeEvents(decision, recordingBy(actor, nowMs));
  const { type } = await log.append(accountStream(accountId), snapshot.revision, events);
  return { isAppended: type === 'appended', refusal: null };
}

/** As for credit that requests of before its end may still burn. */
const NOTHING_WRITTEN = { code: null, message: 'nothing is to be written' };

function closing(
  { months, snapshot }: ReadAccount,
  month: string,
  { graceMs, nowMs }: ClosingTerms,
): CommandOf<'CloseStatement'> {
  const { sums, firstRevision, later } = months.sumsOf(month);
  const { granted, reinstated, restored, reversed, adjustedUp, debited, expired, revoked, adjustedDown } = sums;
  return {
    ...{ type: 'CloseStatement', month, later, graceMs, nowMs },
    sums: {
      ...{ granted: microUsd(granted), reinstated: microUsd(reinstated), restored: microUsd(restored) },
      ...{ reversed: microUsd(reversed), adjustedUp: microUsd(adjustedUp), debited: microUsd(debited) },
      ...{ expired: microUsd(expired), revoked: microUsd(revoked), adjustedDown: microUsd(adjustedDown) },
    },
    firstRevision: firstRevision ?? 0,
    lastRevision: snapshot.revision,
  };
}

/** An account, and what of it no statement has counted, read on as it grows. */
class ReadAccount {
  readonly log: EventLog;
  readonly accountId: AccountId;
  readonly months: OpenMonths;
  snapshot: AccountSnapshot;
  #next: Revision;

  constructor(log: EventLog, accountId: AccountId, from: AccountSnapshot) {
    this.log = log;
    this.accountId = accountId;
    this.snapshot = from;
    const last = from.state.type === 'open' ? from.state.billing.statement : null;
    this.months = new OpenMonths(last);
    this.#next = revision(last?.firstRevision ?? 0);
  }

  async catchUp(): Promise<void> {
    for await (const recorded of this.log.readStream(accountStream(this.accountId), { from: this.#next })) {
      const at = recorded.revision;
      this.#next = revision(at + 1);
      const isNew = at > this.snapshot.revision;
      if (!isNew && !isInStatements(recorded.type)) continue;
      const { event, metadata } = decodeRecorded(recorded);
      if (!isAccountEvent(event)) continue;
      this.months.take(event, at, metadata.recordedAt);
      if (isNew) this.snapshot = { state: evolveAt(this.accountId, this.snapshot.state, at, event), revision: at };
    }
  }
}

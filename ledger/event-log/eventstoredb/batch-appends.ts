import { EventLogError } from '../../../contracts/event-log.ts';
import { backOffMs } from '../../back-off.ts';
import type { AppendAnswer, AppendOnServer } from './append-answer.ts';
import { BatchCall, type BatchCallEnd, type Flight } from './batch-call.ts';
import type { Connection, Logger } from './connection.ts';
import { appendError, faultOf } from './fault.ts';
import { EVENTSTOREDB_LIMITS, type EventStoreDbDeadlines } from './limits.ts';

interface BatchAppendsOptions {
  readonly connection: Connection;
  readonly deadlines: EventStoreDbDeadlines;
  /** One append by a call of its own, for servers that know no other. */
  readonly appendPlainly: (one: AppendOnServer) => Promise<AppendAnswer>;
  readonly logger: Logger | null;
  /** False: none is asked for it. */
  readonly isWanted: boolean;
}

/**
 * Appends over one long-lived call, which costs less than half of what a call for each append does (`npm run bench -- --only settlements`).
 *
 *   append ──▶ call under way, or a new one ──▶ answered: appended, conflict, or refused
 *                  │
 *                  ├─ lost                       every append on it may have been written, and fails as `ambiguous`; the next
 *                  │                             one opens another call, after a pause where the last was lost unheard
 *                  ├─ sent on to another node    what is under way goes there: by its ids it is written once
 *                  └─ unknown to the server      what is under way, and what comes in the next minutes, goes by plain calls
 */
export class BatchAppends {
  readonly #options: BatchAppendsOptions;
  #call: BatchCall | null = null;
  /** Calls in a row that ended without an answer, and when the last one did, by performance.now(). */
  #failures = 0;
  #failedAtMs = 0;
  #plainUntilMs = 0;
  #isClosed = false;

  constructor(options: BatchAppendsOptions) {
    this.#options = options;
    if (!options.isWanted) this.#plainUntilMs = Number.POSITIVE_INFINITY;
  }

  /** @throws EventLogError, AppendRefusedError, and what plain appends throw */
  append(one: AppendOnServer): Promise<AppendAnswer> {
    if (performance.now() < this.#plainUntilMs) return this.#options.appendPlainly(one);
    return new Promise((resolve, reject) => this.#send({ one, resolve, reject, hops: 0 }));
  }

  /** What is still under way fails as `ambiguous`. */
  close(): void {
    this.#isClosed = true;
    this.#call?.close();
  }

  #send(flight: Flight): void {
    if (this.#isClosed) flight.reject(new EventLogError('ambiguous', CLOSED));
    else {
      this.#call ??= this.#open();
      this.#call.send(flight);
    }
  }

  #open(): BatchCall {
    const { connection, deadlines } = this.#options;
    const call = new BatchCall({
      connection,
      deadlines,
      afterMs: this.#failedAtMs + reopenPauseMs(this.#failures, deadlines.backoffMs, Math.random()) - performance.now(),
      onEnded: (end) => this.#ended(call, end),
    });
    return call;
  }

  #ended(call: BatchCall, { error, unanswered, unsent }: BatchCallEnd): void {
    if (this.#call === call) this.#call = null;
    this.#failures = call.hasAnswered ? 0 : this.#failures + 1;
    this.#failedAtMs = performance.now();
    const { isNotLeader, isUnimplemented } = faultOf(error);
    if (isUnimplemented) this.#turnToPlainCalls();
    for (const flight of unanswered)
      if (isUnimplemented) this.#options.appendPlainly(flight.one).then(flight.resolve, flight.reject);
      else if (isNotLeader && flight.hops++ < EVENTSTOREDB_LIMITS.leaderHopsMax) this.#send(flight);
      else flight.reject(lost(error, call.hasAnswered || flight.hops > 0));
    for (const flight of unsent) this.#send(flight);
  }

  #turnToPlainCalls(): void {
    this.#plainUntilMs = performance.now() + EVENTSTOREDB_LIMITS.plainAppendsMs;
    this.#options.logger?.warn(
      {},
      'EventStoreDB knows no batch append: each append is a call of its own, at more cost',
    );
  }
}

/** None after one loss without an answer; then it doubles up to its bound. @param chance 0 to 1 */
export function reopenPauseMs(failures: number, backoffMs: number, chance: number): number {
  if (failures < 2) return 0;
  const bounds = { firstMs: backoffMs, maxMs: EVENTSTOREDB_LIMITS.reopenPauseMaxMs };
  return backOffMs(bounds, failures - 1, chance);
}

const CLOSED = 'the log was closed before an append was answered';

/** What a call's end says of an append on it that was not answered. */
function lost(error: unknown, mayHaveBegun: boolean): EventLogError {
  if (error === null) return new EventLogError('ambiguous', CLOSED);
  const { kind, message } = appendError(error);
  // Where the server was not reached, or took the call from nobody, nothing was begun.
  return new EventLogError(kind === 'unavailable' && !mayHaveBegun ? 'unavailable' : 'ambiguous', message, {
    cause: error,
  });
}

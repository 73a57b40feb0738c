import type { ClientDuplexStream } from '@grpc/grpc-js';
import { EventLogError } from '../../../contracts/event-log.ts';
import { pause } from '../../pause.ts';
import { type AppendAnswer, type AppendOnServer, appended, conflict, unanswered } from './append-answer.ts';
import type { Connection } from './connection.ts';
import { type BatchAnswer, decodeBatchAnswer } from './decode-batch-answer.ts';
import { encodeBatchAppend } from './encode-batch-append.ts';
import type { EventStoreDbDeadlines } from './limits.ts';
import { BATCH_APPEND } from './streams-wire.ts';

/** An append that somebody waits for. */
export interface Flight {
  readonly one: AppendOnServer;
  readonly resolve: (answer: AppendAnswer) => void;
  readonly reject: (error: unknown) => void;
  /** How often it was sent on to another node. */
  hops: number;
}

interface SentAppend {
  readonly flight: Flight;
  /** Null while the call has not begun. */
  timer: NodeJS.Timeout | null;
  /** How many answers had come when it was sent. */
  answersBefore: number;
  /** When its time is over, by performance.now(), and which deadline says so. */
  dueMs: number;
  deadline: 'appendMs' | 'overtakenMs';
}

type Call = ClientDuplexStream<Buffer, Buffer>;

interface BatchCallOptions {
  readonly connection: Connection;
  readonly deadlines: EventStoreDbDeadlines;
  /** How long it waits before it begins. */
  readonly afterMs: number;
  /** Told once. */
  readonly onEnded: (end: BatchCallEnd) => void;
}

export interface BatchCallEnd {
  /** What ended it; null where it was closed. */
  readonly error: unknown;
  /** Appends that were to go over it, and of which nothing is known. */
  readonly unanswered: readonly Flight[];
  /** Appends that came when it was lost already: not a byte of them was sent. */
  readonly unsent: readonly Flight[];
}

/**
 * One call of BatchAppend: many appends under way on it, each known by a number, answered in any order, each with a time of
 * its own, which is short once a later one was written. An append that is not answered in time while others are fails alone; where nothing is answered any more the call is
 * dead, and ends.
 */
export class BatchCall {
  readonly #options: BatchCallOptions;
  readonly #sent = new Map<number, SentAppend>();
  readonly #closing = new AbortController();
  /** Null before it has begun, and when it is lost. */
  #call: Call | null = null;
  #hasBegun = false;
  #correlation = 0;
  #answers = 0;
  #fault: Error | null = null;

  constructor(options: BatchCallOptions) {
    this.#options = options;
    void this.#run().then(
      () => this.#ended(null),
      (error: unknown) => this.#ended(error),
    );
  }

  get hasAnswered(): boolean {
    return this.#answers > 0;
  }

  send(flight: Flight): void {
    const sent: SentAppend = { flight, timer: null, answersBefore: 0, dueMs: 0, deadline: 'appendMs' };
    const correlation = ++this.#correlation;
    this.#sent.set(correlation, sent);
    if (this.#call !== null) this.#write(this.#call, correlation, sent);
  }

  close(): void {
    this.#closing.abort();
    this.#call?.cancel();
  }

  async #run(): Promise<void> {
    const { connection, deadlines, afterMs } = this.#options;
    const { signal } = this.#closing;
    if (afterMs > 0) await pause(afterMs, signal);
    if (signal.aborted) return;
    const options = { connectMs: deadlines.connectMs, deadlineMs: null, requiresLeader: true, leaderHopsMax: 0 };
    await connection.call(options, (grpc, args, heard) =>
      this.#follow(grpc.makeBidiStreamRequest(BATCH_APPEND, asItIs, asItIs, ...args), heard),
    );
  }

  async #follow(call: Call, heard: () => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { signal } = this.#closing;
    call.on('data', (bytes: Buffer) => {
      heard();
      this.#received(bytes);
    });
    const lost = (error: Error): void => {
      this.#call = null;
      if (signal.aborted) resolve();
      else reject(this.#fault ?? error);
    };
    call.on('error', lost);
    call.on('end', () => lost(new EventLogError('ambiguous', 'EventStoreDB ended the call of appends')));
    this.#call = call;
    this.#hasBegun = true;
    for (const [correlation, sent] of this.#sent) this.#write(call, correlation, sent);
    if (signal.aborted) call.cancel();
    await promise;
  }

  #write(call: Call, correlation: number, sent: SentAppend): void {
    sent.answersBefore = this.#answers;
    this.#limit(correlation, sent, 'appendMs');
    call.write(encodeBatchAppend(correlation, sent.flight.one));
  }

  #limit(correlation: number, sent: SentAppend, deadline: SentAppend['deadline']): void {
    const timeMs = this.#options.deadlines[deadline];
    if (sent.timer !== null) clearTimeout(sent.timer);
    sent.deadline = deadline;
    sent.dueMs = performance.now() + timeMs;
    sent.timer = setTimeout(() => this.#timeOut(correlation, sent), timeMs);
  }

  /** Those that were sent before it have little time left: what a server lost while it stood still it never answers. */
  #overtake(written: number): void {
    const soonMs = performance.now() + this.#options.deadlines.overtakenMs;
    for (const [correlation, sent] of this.#sent) {
      if (correlation >= written) return;
      if (sent.deadline === 'appendMs' && sent.dueMs > soonMs) this.#limit(correlation, sent, 'overtakenMs');
    }
  }

  #received(bytes: Buffer): void {
    this.#answers++;
    try {
      const { correlation, verdict } = decodeBatchAnswer(bytes);
      // A conflict is answered without waiting for what is to be written.
      if (verdict.type === 'success') this.#overtake(correlation);
      const sent = this.#sent.get(correlation);
      // One whose time was over has been told so.
      if (sent === undefined) return;
      this.#remove(correlation, sent);
      resolveFlight(sent.flight, verdict);
    } catch (cause) {
      this.#fail(new EventLogError('ambiguous', 'EventStoreDB answered an append with what is no answer', { cause }));
    }
  }

  #timeOut(correlation: number, sent: SentAppend): void {
    const late = unanswered(this.#options.deadlines[sent.deadline], sent.deadline);
    this.#remove(correlation, sent);
    sent.flight.reject(late);
    if (sent.answersBefore === this.#answers) this.#fail(late);
  }

  #remove(correlation: number, { timer }: SentAppend): void {
    if (timer !== null) clearTimeout(timer);
    this.#sent.delete(correlation);
  }

  #fail(fault: Error): void {
    this.#fault ??= fault;
    this.#call?.cancel();
    this.#call = null;
  }

  #ended(error: unknown): void {
    this.#closing.abort();
    const left = [...this.#sent.values()];
    this.#sent.clear();
    const isUnsent = ({ timer }: SentAppend): boolean => this.#hasBegun && timer === null;
    for (const { timer } of left) if (timer !== null) clearTimeout(timer);
    this.#options.onEnded({
      error,
      unanswered: left.filter((sent) => !isUnsent(sent)).map(({ flight }) => flight),
      unsent: left.filter(isUnsent).map(({ flight }) => flight),
    });
  }
}

function resolveFlight({ one, resolve, reject }: Flight, verdict: BatchAnswer['verdict']): void {
  try {
    if (verdict.type === 'refused') reject(verdict.error);
    else if (verdict.type === 'wrong-expected-version') resolve(conflict(verdict.actualRevision));
    else resolve(appended(one, verdict.lastRevision, verdict.position));
  } catch (error) {
    reject(error);
  }
}

const asItIs = (bytes: Buffer): Buffer => bytes;

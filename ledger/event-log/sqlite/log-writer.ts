import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type AppendResult,
  EventLogError,
  type ProposedEvent,
  type RecordedEvent,
} from '../../../contracts/event-log.ts';
import { position, type Revision, revision, type StreamName } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { SQLITE_LIMITS } from './limits.ts';
import { type AppendAnswer, type AppendMessage, CLOSE } from './messages.ts';

interface WaitingAppend {
  readonly stream: StreamName;
  readonly events: readonly ProposedEvent[];
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: EventLogError) => void;
}

/** The main thread's end of the writer: never blocks on the disk, and hands appends over once a turn. */
export class LogWriter {
  readonly #worker: Worker;
  readonly #onCommitted: (events: readonly RecordedEvent[]) => void;
  readonly #waiting = new Map<number, WaitingAppend>();
  #outbox: AppendMessage[] = [];
  #sequence = 0;
  #end: EventLogError | null = null;

  /** @param onCommitted told of what this process has written, in log order, before the appends resolve */
  constructor(path: string, onCommitted: (events: readonly RecordedEvent[]) => void) {
    this.#onCommitted = onCommitted;
    this.#worker = new Worker(new URL('./writer-worker.ts', import.meta.url), {
      workerData: path,
    });
    this.#worker.on('message', (answers: readonly AppendAnswer[]) => this.#take(answers));
    this.#worker.on('error', (cause) => this.#fail(cause));
    this.#worker.on('exit', () => this.#fail(new Error('the writer has ended')));
  }

  append(stream: StreamName, expected: Revision, events: readonly ProposedEvent[]): Promise<AppendResult> {
    const refused = this.#end ?? refuse(events) ?? this.#refuseByQueue();
    if (refused !== null) return Promise.reject(refused);
    const fields = events.flatMap(({ id, type, data, metadata }) => [id.replaceAll('-', ''), type, data, metadata]);
    const message: AppendMessage = [++this.#sequence, stream, expected, ...fields];
    return new Promise((resolve, reject) => {
      this.#waiting.set(message[0], { stream, events, resolve, reject });
      this.#outbox.push(message);
      if (this.#outbox.length === 1) queueMicrotask(() => this.#send());
    });
  }

  /** Waits for the appends under way. */
  async close(): Promise<void> {
    if (this.#end !== null) return;
    this.#end = new EventLogError('closed', 'the event log is closed');
    this.#send();
    const ended = once(this.#worker, 'exit');
    this.#worker.postMessage(CLOSE);
    await ended;
  }

  #send(): void {
    if (this.#outbox.length === 0) return;
    this.#worker.postMessage(this.#outbox);
    this.#outbox = [];
  }

  #take(answers: readonly AppendAnswer[]): void {
    const committed: RecordedEvent[] = [];
    for (const answer of answers)
      if (answer[1] === 'appended') committed.push(...this.#recorded(answer[0], answer[2], answer[3]));
    if (committed.length > 0) this.#onCommitted(committed);
    for (const answer of answers) {
      const append = this.#waiting.get(answer[0]);
      this.#waiting.delete(answer[0]);
      if (append !== undefined) settle(append, answer);
    }
  }

  #recorded(sequence: number, last: number, at: number): RecordedEvent[] {
    const append = this.#waiting.get(sequence);
    if (append === undefined) return [];
    const { stream, events } = append;
    const before = events.length - 1;
    return events.map(({ id, type, data, metadata }, index) => ({
      id,
      type,
      data,
      metadata,
      stream,
      revision: revision(last - before + index),
      position: position(at - before + index),
    }));
  }

  #refuseByQueue(): EventLogError | null {
    if (this.#waiting.size < SQLITE_LIMITS.appendsWaitingMax) return null;
    return new EventLogError(
      'unavailable',
      `${SQLITE_LIMITS.appendsWaitingMax} appends wait already (appendsWaitingMax)`,
    );
  }

  #fail(cause: Error): void {
    this.#end ??= new EventLogError('unavailable', 'the log cannot be written', { cause });
    for (const { reject } of this.#waiting.values())
      reject(
        new EventLogError('ambiguous', 'the log ended during the append', {
          cause,
        }),
      );
    this.#waiting.clear();
  }
}

function settle({ resolve, reject }: WaitingAppend, answer: AppendAnswer): void {
  switch (answer[1]) {
    case 'appended':
    case 'repeated':
      resolve({
        type: 'appended',
        lastRevision: revision(answer[2]),
        position: position(answer[3]),
      });
      return;
    case 'conflict':
      resolve({ type: 'conflict', actualRevision: revision(answer[2]) });
      return;
    default:
      reject(new EventLogError(answer[1], `the log was not written: ${answer[2]}`));
  }
}

function refuse(events: readonly ProposedEvent[]): EventLogError | null {
  if (events.length === 0) return new EventLogError('invalid', 'an append has at least one event');
  if (events.length > SQLITE_LIMITS.eventsPerAppendMax)
    return new EventLogError(
      'invalid',
      `an append has at most ${SQLITE_LIMITS.eventsPerAppendMax} events (eventsPerAppendMax)`,
    );
  let bytes = 0;
  for (const { type, data, metadata } of events) {
    const size = Buffer.byteLength(data) + Buffer.byteLength(metadata) + type.length;
    if (size > LIMITS.eventBytesMax)
      return new EventLogError('invalid', `an event has at most ${LIMITS.eventBytesMax} bytes (eventBytesMax)`);
    bytes += size;
  }
  if (bytes <= LIMITS.appendBytesMax) return null;
  return new EventLogError('invalid', `an append has at most ${LIMITS.appendBytesMax} bytes (appendBytesMax)`);
}

import { Worker } from 'node:worker_threads';
import type { Refusal } from '../../contracts/errors.ts';
import type { BodyOwner } from './body-owner.ts';
import { freeBytes } from './free-bytes.ts';
import {
  IDLE_MS,
  READING_MS_MAX,
  THREAD_HEAP_MIB_MAX,
  THREADS_MAX,
  WAITING_MAX,
  WAITING_OF_ONE_MAX,
} from './limits.ts';
import type { MockAnswer } from './mock-reply.ts';
import { OwnerTurns } from './owner-turns.ts';
import type { FactsByKind, FactsKind } from './request-facts.ts';

/** As a thread gets it. */
export interface BodyTask {
  readonly job: FactsKind | 'mock';
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  readonly windowMax: number;
}
/** As a thread gives it back. */
export interface BodyResult<T> {
  readonly pieces: readonly Buffer[];
  readonly value: T;
}
/** A defect of the gateway's, in words. */
export interface BodyFault {
  readonly pieces: readonly Buffer[];
  readonly fault: string;
}

export interface BodyAsker {
  /** Accounts take turns, so that nobody's bodies stand before all of another's. */
  readonly owner: BodyOwner;
  /** Whether anybody still waits for it. */
  readonly isWanted: () => boolean;
}

/** A body was not read: its thread ended, or too many wait, or nobody waits for it any more. */
export class BodyNotReadError extends Error {
  override readonly name = 'BodyNotReadError';
  /** Too many of the asker's own wait: others are read. */
  readonly isOfShare: boolean;

  constructor(
    message: string,
    { isOfShare = false, ...options }: ErrorOptions & { readonly isOfShare?: boolean } = {},
  ) {
    super(message, options);
    this.isOfShare = isOfShare;
  }
}

/** Those of limits.ts where they are not given. */
interface ThreadTimes {
  readonly readingMsMax: number;
  readonly idleMs: number;
}

interface Waiting {
  readonly task: Omit<BodyTask, 'pieces'>;
  readonly pieces: readonly Buffer[];
  readonly asker: BodyAsker;
  readonly resolve: (result: BodyResult<unknown>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Threads that read long bodies. They start when they are needed and end when they have not been for a while; one that
 * dies takes the body that it had along, and nothing else. Those that never paid have all but one of them at the most:
 * a body of theirs may take seconds, and none that pays waits for it.
 */
export class BodyThreads {
  readonly #waiting = new OwnerTurns<Waiting>();
  readonly #threads = new Set<BodyThread>();
  readonly #times: ThreadTimes;
  #isClosed = false;

  constructor(times: Partial<ThreadTimes> = {}) {
    this.#times = { readingMsMax: READING_MS_MAX, idleMs: IDLE_MS, ...times };
  }

  /** Gives the pieces away, for they are transferred; they come back with the facts. @throws BodyNotReadError */
  facts<K extends FactsKind>(
    kind: K,
    { pieces, windowMax }: { readonly pieces: readonly Buffer[]; readonly windowMax: number },
    asker: BodyAsker,
  ): Promise<BodyResult<FactsByKind[K] | Refusal>> {
    return this.#run({ job: kind, windowMax }, pieces, asker);
  }

  /** The same for the mock's reply. */
  mockAnswer(pieces: readonly Buffer[], asker: BodyAsker): Promise<BodyResult<MockAnswer>> {
    return this.#run({ job: 'mock', windowMax: 0 }, pieces, asker);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (let waiting = this.#waiting.take(); waiting !== null; waiting = this.#waiting.take())
      waiting.reject(new BodyNotReadError('the gateway is shutting down'));
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  /** What comes back is what the job of the task computes (body-thread.ts). */
  #run<T>(task: Omit<BodyTask, 'pieces'>, pieces: readonly Buffer[], asker: BodyAsker): Promise<BodyResult<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<BodyResult<T>>();
    if (this.#isClosed) reject(new BodyNotReadError('the gateway is shutting down'));
    else if (this.#waiting.sizeOf(asker.owner) >= WAITING_OF_ONE_MAX)
      reject(new BodyNotReadError(`${WAITING_OF_ONE_MAX} long ones of this account wait already`, { isOfShare: true }));
    else if (this.#waiting.size >= WAITING_MAX) reject(new BodyNotReadError(`${WAITING_MAX} long ones wait already`));
    else {
      const resolveAny = (result: BodyResult<unknown>): void => resolve(result as BodyResult<T>);
      this.#waiting.add(asker.owner, { task, pieces, asker, resolve: resolveAny, reject });
      this.#next();
    }
    return promise;
  }

  #next(): void {
    while (this.#waiting.size > 0) {
      const free = this.#freeThread();
      if (free === null && this.#threads.size >= THREADS_MAX) return;
      const waiting = this.#mayReadUnpaid() ? this.#waiting.take() : this.#waiting.takePaid();
      if (waiting === null) return;
      if (waiting.asker.isWanted()) (free ?? this.#threadFor(waiting))?.read(waiting);
      else waiting.reject(new BodyNotReadError('nobody waits for it any more'));
    }
  }

  #mayReadUnpaid(): boolean {
    let unpaid = 0;
    for (const thread of this.#threads) if (thread.readsUnpaid) unpaid++;
    return unpaid < THREADS_MAX - 1;
  }

  #freeThread(): BodyThread | null {
    for (const thread of this.#threads) if (thread.isFree) return thread;
    return null;
  }

  /** Null where the machine has none to give; it may have one for the next body. */
  #threadFor({ reject }: Waiting): BodyThread | null {
    try {
      return this.#newThread();
    } catch (cause) {
      reject(new BodyNotReadError('no thread can be started', { cause }));
      return null;
    }
  }

  #newThread(): BodyThread {
    const thread = new BodyThread({
      times: this.#times,
      onFree: () => this.#next(),
      onEnded: () => {
        this.#threads.delete(thread);
        this.#next();
      },
    });
    this.#threads.add(thread);
    return thread;
  }
}

interface BodyThreadParts {
  readonly times: ThreadTimes;
  readonly onFree: () => void;
  readonly onEnded: () => void;
}

/** One thread and the body that it reads. */
class BodyThread {
  readonly #times: ThreadTimes;
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  readonly #onFree: () => void;
  #reading: Waiting | null = null;
  #isEnded = false;
  #timer: NodeJS.Timeout | null = null;

  constructor({ times, onFree, onEnded }: BodyThreadParts) {
    this.#times = times;
    this.#onFree = onFree;
    this.#worker = new Worker(new URL('./body-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB_MAX },
    });
    this.#worker.on('message', (answer: BodyResult<unknown> | BodyFault) => this.#finished(answer));
    let cause: unknown = null;
    this.#worker.on('error', (error) => {
      cause = error;
    });
    this.#exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#worker.once('exit', () => {
      this.#isEnded = true;
      this.#stopTimer();
      this.#reading?.reject(new BodyNotReadError('the thread that read it has ended', { cause }));
      this.#reading = null;
      onEnded();
    });
  }

  get isFree(): boolean {
    return this.#reading === null && !this.#isEnded;
  }

  get readsUnpaid(): boolean {
    return this.#reading?.asker.owner.hasPaid === false;
  }

  read(waiting: Waiting): void {
    this.#stopTimer();
    this.#reading = waiting;
    this.#timer = setTimeout(() => void this.end(), this.#times.readingMsMax);
    const { task, pieces } = waiting;
    this.#worker.postMessage({ ...task, pieces }, [...new Set(pieces.map((piece) => piece.buffer as ArrayBuffer))]);
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await this.#worker.terminate();
    await this.#exited;
  }

  #finished(answer: BodyResult<unknown> | BodyFault): void {
    const reading = this.#reading;
    this.#reading = null;
    this.#stopTimer();
    this.#timer = setTimeout(() => void this.end(), this.#times.idleMs);
    this.#timer.unref();
    const pieces = answer.pieces.map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    if ('fault' in answer) {
      for (const piece of pieces) freeBytes(piece);
      reading?.reject(new Error(`the body could not be read: ${answer.fault}`));
    } else reading?.resolve({ pieces, value: answer.value });
    this.#onFree();
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

import { Worker } from 'node:worker_threads';
import { EventLogError } from '../../../contracts/event-log.ts';
import { CLOSE, type ThreadData, type ThreadOpened } from './messages.ts';

/** The main thread's end of one of the log's threads. */
export class LogThread<Message, Answer> {
  readonly #worker: Worker;
  /** With what ended it. */
  readonly #hasEnded: Promise<Error>;

  /** @throws EventLogError `invalid` or `unavailable`, when the thread cannot have the file */
  static async open<Message, Answer>(module: URL, data: ThreadData): Promise<LogThread<Message, Answer>> {
    const worker = new Worker(module, { workerData: data });
    const hasEnded = endOf(worker);
    const hasOpened = new Promise<ThreadOpened>((resolve) => worker.once('message', resolve));
    const opened = await Promise.race([hasOpened, hasEnded]);
    if (opened instanceof Error)
      throw new EventLogError('unavailable', 'a thread of the log did not start', { cause: opened });
    if (opened.type === 'opened') return new LogThread(worker, hasEnded);
    await hasEnded;
    throw new EventLogError(opened.kind, opened.message);
  }

  private constructor(worker: Worker, hasEnded: Promise<Error>) {
    this.#worker = worker;
    this.#hasEnded = hasEnded;
  }

  /** @param onEnded told once: the thread has ended, by `close` or by a fault */
  listen(onAnswer: (answer: Answer) => void, onEnded: (cause: Error) => void): void {
    this.#worker.on('message', onAnswer);
    void this.#hasEnded.then(onEnded);
  }

  send(message: Message): void {
    this.#worker.postMessage(message);
  }

  /** Resolves when the thread has answered everything it was sent, let go of the file, and ended. */
  async close(): Promise<void> {
    this.#worker.postMessage(CLOSE);
    await this.#hasEnded;
  }
}

function endOf(worker: Worker): Promise<Error> {
  let cause = new Error('the thread has ended');
  worker.on('error', (error) => {
    cause = error instanceof Error ? error : new Error(String(error));
  });
  return new Promise((resolve) => worker.once('exit', () => resolve(cause)));
}

import { Worker } from 'node:worker_threads';
import { EventLogError } from '../../../contracts/event-log.ts';
import { CLOSE, OPEN, type ThreadData, type ThreadOpened } from './messages.ts';

/** The main thread's end of one of the log's threads. */
export class LogThread<Message, Answer> {
  readonly #worker: Worker;
  /** With what ended it. */
  readonly #hasEnded: Promise<Error>;
  #isClosing = false;

  /** Starts the thread; `open` is the first thing to ask of it. */
  constructor(module: URL, data: ThreadData) {
    this.#worker = new Worker(module, { workerData: data });
    this.#hasEnded = endOf(this.#worker);
  }

  /** Which file it has (OpenedFile). @throws EventLogError `invalid` or `unavailable`, when the thread cannot have it */
  async open(): Promise<string | null> {
    const hasOpened = new Promise<ThreadOpened>((resolve) => this.#worker.once('message', resolve));
    this.#worker.postMessage(OPEN);
    const opened = await Promise.race([hasOpened, this.#hasEnded]);
    if (opened instanceof Error)
      throw new EventLogError('unavailable', `a thread of the log did not start: ${opened.message}`, { cause: opened });
    if (opened.type === 'refused') throw new EventLogError(opened.kind, opened.message);
    return opened.file;
  }

  /** @param onEnded told once: the thread has ended, by `close` or by a fault */
  listen(onAnswer: (answer: Answer) => void, onEnded: (cause: Error) => void): void {
    this.#worker.on('message', onAnswer);
    void this.#hasEnded.then(onEnded);
  }

  /** @param onLost told when the thread ends though nobody has closed it: another is started by a process that starts */
  watch(onLost: (cause: Error) => void): void {
    void this.#hasEnded.then((cause) => {
      if (!this.#isClosing) onLost(cause);
    });
  }

  send(message: Message): void {
    this.#worker.postMessage(message);
  }

  /** Resolves when the thread has answered everything it was sent, let go of the file, and ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
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

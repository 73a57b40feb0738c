import { write, writeSync } from 'node:fs';

/** Text that waits for a place that does not take it; lines beyond that are lost, and counted. */
const WAITING_CHARS_MAX = 1024 * 1024;
const PAUSE_MS = 1_000;
/** Text that waits for no more lines. */
const GATHERED_CHARS = 64 * 1024;
/** A pipe whose reader is slow: at first as long as one takes that reads on, then twice as long each time, up to this. */
const BUSY_PAUSE_MS = 100;
const BUSY_FIRST_PAUSE_MS = 1;
/** How often a process that is about to end waits for one. */
const BUSY_TRIES_MAX = 10;
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

interface LogDestinationOptions {
  readonly fd: number;
  readonly pauseMs?: number;
  readonly waitingCharsMax?: number;
  /** How long a first line waits for others, to be written with them; 0 where it is not said. */
  readonly gatherMs?: number;
  /** The line that tells, once there is room again, how many lines were lost meanwhile. */
  readonly lostLines: (count: number) => string;
}

/**
 * Where a program that stays up writes its log: a little later, many lines at a time. A log that cannot be written, on a
 * full disk or without a reader, holds up nobody and ends nothing; it is tried again, and what is too much is lost.
 */
export class LogDestination {
  readonly #options: LogDestinationOptions;
  #waiting: string[] = [];
  #waitingChars = 0;
  #lost = 0;
  #lostInAll = 0;
  /** What is being written, or waits to be tried again. */
  #chunk: Buffer | null = null;
  #isWriting = false;
  #timer: NodeJS.Timeout | null = null;

  #gathering: NodeJS.Timeout | null = null;
  #busyPauseMs = BUSY_FIRST_PAUSE_MS;

  constructor(options: LogDestinationOptions) {
    this.#options = options;
  }

  /** Lines since the start. */
  get lost(): number {
    return this.#lostInAll;
  }

  write(line: string): void {
    if (this.#waitingChars + line.length > (this.#options.waitingCharsMax ?? WAITING_CHARS_MAX)) {
      this.#lost++;
      this.#lostInAll++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingChars += line.length;
    if (this.#options.gatherMs === undefined || this.#waitingChars >= GATHERED_CHARS) this.#writeOn();
    else this.#gather(this.#options.gatherMs);
  }

  /** What waits, where it is taken soon: the process may be about to end. What is on its way already is the kernel's. */
  flushSync(): void {
    if (!this.#isWriting) {
      this.#chunk = this.#writeNow(this.#chunk);
      if (this.#chunk === null) this.#chunk = this.#writeNow(this.#take());
      return;
    }
    const rest = this.#writeNow(this.#take());
    if (rest !== null) this.#waiting.unshift(rest.toString());
  }

  /** What could not be written. */
  #writeNow(chunk: Buffer | null): Buffer | null {
    let rest = chunk;
    for (let tries = 0; rest !== null && rest.length > 0; ) {
      try {
        rest = rest.subarray(writeSync(this.#options.fd, rest, 0, rest.length));
      } catch (error) {
        // Nobody else can be told: this is where it would be told.
        if (!isBusy(error) || ++tries > BUSY_TRIES_MAX) return rest;
        Atomics.wait(never, 0, 0, BUSY_PAUSE_MS);
      }
    }
    return null;
  }

  #gather(gatherMs: number): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      this.#writeOn();
    }, gatherMs);
  }

  #writeOn(): void {
    if (this.#isWriting || this.#timer !== null) return;
    this.#chunk ??= this.#take();
    const chunk = this.#chunk;
    if (chunk === null) return;
    this.#isWriting = true;
    write(this.#options.fd, chunk, 0, chunk.length, null, (error, bytes) => {
      this.#isWriting = false;
      if (error !== null) this.#tryAgain(error);
      else {
        this.#busyPauseMs = BUSY_FIRST_PAUSE_MS;
        this.#chunk = bytes < chunk.length ? chunk.subarray(bytes) : null;
        this.#writeOn();
      }
    });
  }

  #tryAgain(error: Error): void {
    const pauseMs = isBusy(error) ? this.#busyPauseMs : (this.#options.pauseMs ?? PAUSE_MS);
    if (isBusy(error)) this.#busyPauseMs = Math.min(2 * this.#busyPauseMs, BUSY_PAUSE_MS);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#writeOn();
    }, pauseMs);
    this.#timer.unref();
  }

  #take(): Buffer | null {
    if (this.#waiting.length === 0) return null;
    if (this.#lost > 0) this.#waiting.push(this.#options.lostLines(this.#lost));
    this.#lost = 0;
    const text = this.#waiting.join('');
    this.#waiting = [];
    this.#waitingChars = 0;
    return Buffer.from(text);
  }
}

const isBusy = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN';

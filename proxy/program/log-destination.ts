import { write, writeSync } from 'node:fs';
import { printable } from '../../contracts/printable.ts';

/** Text that waits for a place that does not take it; lines beyond that are lost, and counted. */
const WAITING_CHARS_MAX = 1024 * 1024;
const PAUSE_MS = 1_000;
/** Text that waits for no more lines: with the last of them it fits into a pipe, which would take a longer one in two writes. */
const GATHERED_CHARS = 60 * 1024;
/** The one character of ASCII that JSON has as it is and nobody sees. */
const DELETE = 0x7f;
/** A pipe whose reader is slow: at first as long as one takes that reads on, then twice as long each time, up to this. */
const BUSY_PAUSE_MS = 100;
const BUSY_FIRST_PAUSE_MS = 1;
/** How often a process that is about to end waits for one. */
const BUSY_TRIES_MAX = 10;
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export interface LogDestinationOptions {
  readonly fd: number;
  readonly pauseMs?: number;
  readonly waitingCharsMax?: number;
  /** How long a first line waits for others, to be written with them; 0 where it is not said. */
  readonly gatherMs?: number;
  /** The line that tells, once there is room again, how many lines were lost meanwhile. */
  readonly lostLines: (count: number) => string;
  /** Told why nothing can be written, once until something was again; not where a reader is only slow. */
  readonly onUnwritten?: (error: Error) => void;
}

/**
 * Where a program that stays up writes its log: a little later, many lines at a time. A log that cannot be written, on a
 * full disk or without a reader, holds up nobody and ends nothing; it is tried again, and what is too much is lost.
 * Nothing in its lines, which are JSON, hides or turns what is seen.
 */
export class LogDestination {
  readonly #options: LogDestinationOptions;
  #waiting = '';
  #lost = 0;
  #lostInAll = 0;
  /** What is being written, or waits to be tried again. */
  #chunk: Buffer | null = null;
  #isWriting = false;
  #isUnwritten = false;
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
    if (this.#waiting.length + line.length > (this.#options.waitingCharsMax ?? WAITING_CHARS_MAX)) {
      this.#lost++;
      this.#lostInAll++;
      return;
    }
    this.#waiting += line;
    this.#goOn();
  }

  /** What waits, where it is taken soon: the process may be about to end. What is on its way already is the kernel's. */
  flushSync(): void {
    if (!this.#isWriting) {
      this.#chunk = this.#writeNow(this.#chunk);
      if (this.#chunk === null) this.#chunk = this.#writeNow(this.#take());
      return;
    }
    const rest = this.#writeNow(this.#take());
    if (rest !== null) this.#waiting = rest.toString() + this.#waiting;
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

  /** What has come while others were written waits as long as they did: else each turn of the loop would have its own write. */
  #goOn(): void {
    const { gatherMs } = this.#options;
    if (gatherMs === undefined || this.#chunk !== null || this.#waiting.length >= GATHERED_CHARS) this.#writeOn();
    else if (this.#waiting !== '')
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
        this.#isUnwritten = false;
        this.#busyPauseMs = BUSY_FIRST_PAUSE_MS;
        this.#chunk = bytes < chunk.length ? chunk.subarray(bytes) : null;
        this.#goOn();
      }
    });
  }

  #tryAgain(error: Error): void {
    const pauseMs = isBusy(error) ? this.#busyPauseMs : (this.#options.pauseMs ?? PAUSE_MS);
    if (isBusy(error)) this.#busyPauseMs = Math.min(2 * this.#busyPauseMs, BUSY_PAUSE_MS);
    else if (!this.#isUnwritten) {
      this.#isUnwritten = true;
      this.#options.onUnwritten?.(error);
    }
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#writeOn();
    }, pauseMs);
    this.#timer.unref();
  }

  #take(): Buffer | null {
    if (this.#waiting === '') return null;
    const text = this.#lost > 0 ? this.#waiting + this.#options.lostLines(this.#lost) : this.#waiting;
    this.#lost = 0;
    this.#waiting = '';
    return printableBytes(text);
  }
}

/** Of lines of JSON. Nearly all are of plain ASCII alone, and many at once are known for it at no cost. */
function printableBytes(lines: string): Buffer {
  const bytes = Buffer.from(lines);
  if (bytes.length === lines.length && !bytes.includes(DELETE)) return bytes;
  return Buffer.from(lines.split('\n').map(printable).join('\n'));
}

const isBusy = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN';

import { write, writeSync } from 'node:fs';
import { LIMITS } from '../../contracts/limits.ts';
import { printable } from '../../contracts/printable.ts';

/** What waits for a place that does not take it; lines beyond that are lost, and counted. */
const WAITING_BYTES_MAX = 1024 * 1024;
const PAUSE_MS = 1_000;
/** What waits for no more lines: with the last of them it fits into a pipe, which would take a longer one in two writes. */
const GATHERED_BYTES = 60 * 1024;
/** Lines that are made together: the code for them, cold among all that a program does between, is met once. */
const MADE_TOGETHER = 64;
/** A character of UTF-16 takes no more in UTF-8. */
const CHARACTER_BYTES_MAX = 3;
/** The one character of ASCII that JSON has as it is and nobody sees. */
const DELETE = 0x7f;
/** A pipe whose reader is slow: at first as long as one takes that reads on, then twice as long each time, up to this. */
const BUSY_PAUSE_MS = 100;
const BUSY_FIRST_PAUSE_MS = 1;
/** So long a process that is about to end waits for one that takes nothing. */
const END_STILL_MS = 1_000;
const END_PAUSE_MS = 10;
/** No disk takes as long for a write. */
const HELD_MS = 1_000;
const LINE_END = 0x0a;
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export interface LogDestinationOptions {
  readonly fd: number;
  /** A write takes what there is room for at once, whoever else has the place. */
  readonly waitsForNobody?: boolean;
  /** A write may be held for good, and the process with it: none is begun at its end. */
  readonly mayHold?: boolean;
  readonly pauseMs?: number;
  readonly waitingBytesMax?: number;
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
  /** Bytes, as they are to be written: a text that grows is kept in all its pieces, which every collection of garbage meets. */
  #waiting = Buffer.alloc(0);
  #waitingBytes = 0;
  /** Behind those. */
  #unmade: (() => string)[] = [];
  #lost = 0;
  #lostInAll = 0;
  /** What is being written, or waits to be tried again. */
  #chunk: Buffer | null = null;
  /** Those that its last line tells of. */
  #lostBefore = 0;
  #isSoon = false;
  #isWriting = false;
  #writtenSinceMs = 0;
  #isEnded = false;
  #isUnwritten = false;
  #timer: NodeJS.Timeout | null = null;
  #gathering: NodeJS.Timeout | null = null;
  #busyPauseMs = BUSY_FIRST_PAUSE_MS;

  constructor(options: LogDestinationOptions) {
    this.#options = options;
  }

  /** Lines since the start; of those that are still to be made it is found out. */
  get lost(): number {
    this.#make();
    return this.#lostInAll;
  }

  /**
   * Its place has taken nothing of what is being written, for long or, where it may hold it for good, at all: that has a thread,
   * which the end of the process would wait for.
   */
  get isHeld(): boolean {
    if (!this.#isWriting) return false;
    return this.#options.mayHold === true || performance.now() - this.#writtenSinceMs >= HELD_MS;
  }

  write(line: string): void {
    if (this.#isEnded) {
      this.#lose();
      return;
    }
    this.#make();
    this.#keep(line);
    this.#goOn();
  }

  /** Like `write`. @param make makes the line, once, some turns of the event loop later; it throws nothing */
  writeLater(make: () => string): void {
    if (this.#isEnded) {
      this.#lose();
      return;
    }
    if (this.#unmade.push(make) >= MADE_TOGETHER) this.#make();
    this.#goOn();
  }

  /**
   * Writes what waits, so long as it is taken, and nothing from then on: the process is about to end. Returns how many lines were not
   * taken whole, and were lost; of what is held all, for what of it was taken is not known. What else is on its way is the kernel's.
   *
   * @param forMs so long at the most
   */
  end(forMs: number = LIMITS.logsEndMs): number {
    if (this.#isEnded) return 0;
    this.#isEnded = true;
    this.#make();
    clearTimeout(this.#timer ?? undefined);
    clearTimeout(this.#gathering ?? undefined);
    const { fd, mayHold = false } = this.#options;
    const endsMs = performance.now() + forMs;
    // Where a write waits, another would, too.
    const takesNone = mayHold || this.isHeld;
    let rest = this.#isWriting && !this.isHeld ? null : this.#chunk;
    if (!takesNone) {
      if (!this.#isWriting) rest = writeNow(fd, rest, endsMs);
      rest ??= writeNow(fd, this.#take(), endsMs);
    }
    const untaken = linesIn(this.#waiting.subarray(0, this.#waitingBytes)) + this.#lost;
    if (rest === null) return untaken;
    // The line that tells of others is none of the log's own.
    return untaken + linesIn(rest) + (this.#lostBefore === 0 ? 0 : this.#lostBefore - 1);
  }

  /** What has come while others were written waits as long as they did: else each turn of the loop would have its own write. */
  #goOn(): void {
    const { gatherMs } = this.#options;
    if (gatherMs === undefined) this.#writeSoon();
    else if (this.#chunk !== null || this.#waitingBytes >= GATHERED_BYTES) this.#writeOn();
    else if (this.#waitingBytes > 0 || this.#unmade.length > 0)
      this.#gathering ??= setTimeout(() => {
        this.#gathering = null;
        this.#writeOn();
      }, gatherMs);
  }

  /** Behind what runs now: where that ends the process, nothing is on its way that nobody hears of any more. */
  #writeSoon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    queueMicrotask(() => {
      this.#isSoon = false;
      this.#writeOn();
    });
  }

  #writeOn(): void {
    if (this.#isWriting || this.#timer !== null || this.#isEnded) return;
    this.#chunk ??= this.#take();
    const chunk = this.#chunk;
    if (chunk === null) return;
    const { fd, waitsForNobody = false } = this.#options;
    if (waitsForNobody) {
      const { error, bytes } = writtenNow(fd, chunk);
      if (error === null) this.#written(chunk, bytes);
      else this.#tryAgain(error);
      return;
    }
    this.#isWriting = true;
    this.#writtenSinceMs = performance.now();
    write(fd, chunk, 0, chunk.length, null, (error, bytes) => {
      this.#isWriting = false;
      if (this.#isEnded) return;
      if (error === null) this.#written(chunk, bytes);
      else this.#tryAgain(error);
    });
  }

  #written(chunk: Buffer, bytes: number): void {
    this.#isUnwritten = false;
    this.#busyPauseMs = BUSY_FIRST_PAUSE_MS;
    this.#chunk = bytes < chunk.length ? chunk.subarray(bytes) : null;
    if (this.#chunk === null) this.#goOn();
    else this.#later(BUSY_FIRST_PAUSE_MS);
  }

  #tryAgain(error: Error): void {
    const pauseMs = isBusy(error) ? this.#busyPauseMs : (this.#options.pauseMs ?? PAUSE_MS);
    if (isBusy(error)) this.#busyPauseMs = Math.min(2 * this.#busyPauseMs, BUSY_PAUSE_MS);
    else if (!this.#isUnwritten) {
      this.#isUnwritten = true;
      this.#options.onUnwritten?.(error);
    }
    this.#later(pauseMs);
  }

  #later(pauseMs: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#writeOn();
    }, pauseMs);
    this.#timer.unref();
  }

  #make(): void {
    const unmade = this.#unmade;
    if (unmade.length === 0) return;
    this.#unmade = [];
    for (const make of unmade) this.#keep(make());
  }

  #keep(line: string): void {
    if (this.#waitingBytes + line.length > (this.#options.waitingBytesMax ?? WAITING_BYTES_MAX)) this.#lose();
    else this.#add(line);
  }

  #lose(): void {
    this.#lost++;
    this.#lostInAll++;
  }

  /** Nearly all lines are of plain ASCII alone, and known for it by their length. */
  #add(line: string): void {
    const from = this.#waitingBytes;
    if (this.#put(line) === line.length) return;
    this.#waitingBytes = from;
    this.#put(printable(line));
  }

  #put(text: string): number {
    const needed = this.#waitingBytes + text.length * CHARACTER_BYTES_MAX;
    if (needed > this.#waiting.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#waiting.length, needed));
      this.#waiting.copy(grown, 0, 0, this.#waitingBytes);
      this.#waiting = grown;
    }
    const bytes = this.#waiting.write(text, this.#waitingBytes);
    this.#waitingBytes += bytes;
    return bytes;
  }

  #take(): Buffer | null {
    this.#make();
    if (this.#waitingBytes === 0) return null;
    if (this.#lost > 0) this.#add(this.#options.lostLines(this.#lost));
    this.#lostBefore = this.#lost;
    this.#lost = 0;
    const bytes = Buffer.from(this.#waiting.subarray(0, this.#waitingBytes));
    this.#waitingBytes = 0;
    return bytes.includes(DELETE) ? Buffer.from(printable(bytes.toString())) : bytes;
  }
}

function writtenNow(fd: number, chunk: Buffer): { readonly error: Error | null; readonly bytes: number } {
  try {
    return { error: null, bytes: writeSync(fd, chunk, 0, chunk.length) };
  } catch (error) {
    return { error: error instanceof Error ? error : new Error(String(error)), bytes: 0 };
  }
}

/** As far as it is taken. Returns the rest, null where there is none. */
function writeNow(fd: number, chunk: Buffer | null, endsMs: number): Buffer | null {
  let rest = chunk;
  for (let takenMs = performance.now(); rest !== null && rest.length > 0; ) {
    const { error, bytes } = writtenNow(fd, rest);
    const nowMs = performance.now();
    rest = rest.subarray(bytes);
    if (error === null) takenMs = nowMs;
    // Nobody else can be told: this is where it would be told.
    else if (!isBusy(error) || nowMs - takenMs >= END_STILL_MS) return rest;
    if (rest.length > 0 && nowMs >= endsMs) return rest;
    if (error !== null) Atomics.wait(never, 0, 0, END_PAUSE_MS);
  }
  return null;
}

/** Those that end in it. */
function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_END); at >= 0; at = bytes.indexOf(LINE_END, at + 1)) lines++;
  return lines;
}

const isBusy = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN';

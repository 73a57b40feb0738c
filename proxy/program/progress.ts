import { type Options, SingleBar } from 'cli-progress';
import { groupedCount } from '../../contracts/money.ts';
import type { CommandContext } from './command-context.ts';

/** Work that ends before is not spoken of: on a terminal, and where lines stay (a log). */
const TERMINAL_AFTER_MS = 200;
const LINES_AFTER_MS = 30_000;
const DRAWN_PER_S = 5;
const BAR_COLUMNS = 24;

/** How far a long piece of work is, on stderr, with its rate and the time that is left. Nothing of it stays on a terminal. */
export class Progress implements Disposable {
  readonly #what: string;
  readonly #clock: () => number;
  readonly #stream: NodeJS.WriteStream | null;
  readonly #startedMs: number;
  #quietSinceMs: number;
  #done = 0;
  #bar: SingleBar | null = null;

  /** @param what what is counted, in the plural */
  constructor({ clock, progressStream }: CommandContext, what: string) {
    this.#what = what;
    this.#clock = clock;
    this.#stream = progressStream ?? null;
    this.#startedMs = clock();
    this.#quietSinceMs = this.#startedMs;
  }

  add(done: number, of: number): void {
    this.#done += done;
    if (this.#stream === null) return;
    const nowMs = this.#clock();
    const left = this.#left(nowMs, of);
    if (this.#bar !== null) {
      this.#bar.setTotal(of);
      this.#bar.update(this.#done, left);
    } else if (nowMs - this.#quietSinceMs >= (this.#stream.isTTY ? TERMINAL_AFTER_MS : LINES_AFTER_MS)) {
      this.#bar = new SingleBar(this.#options(this.#stream));
      this.#bar.start(of, this.#done, left);
    }
  }

  /** Carries out what writes beside it. */
  above(write: () => void): void {
    this.end();
    write();
  }

  /** Also where the work failed: what draws it would keep the process. */
  end(): void {
    this.#bar?.stop();
    this.#bar = null;
    this.#quietSinceMs = this.#clock();
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #left(nowMs: number, of: number): { readonly rate: string; readonly left: string } {
    const perMs = this.#done / Math.max(1, nowMs - this.#startedMs);
    const leftS = Math.ceil(Math.max(0, of - this.#done) / perMs / 1_000);
    return { rate: groupedCount(Math.round(perMs * 1_000)), left: durationOf(leftS) };
  }

  #options(stream: NodeJS.WriteStream): Options {
    const bar = stream.isTTY ? '[{bar}] ' : '';
    return {
      stream,
      format: `${bar}{percentage}% of {total} ${this.#what}, {rate}/s, {left} left`,
      formatValue: (value, _options, type) => (type === 'total' ? groupedCount(value) : String(value)),
      barsize: BAR_COLUMNS,
      fps: DRAWN_PER_S,
      clearOnComplete: true,
      // Else wrapping would stay off in a terminal whose command is interrupted.
      linewrap: true,
      noTTYOutput: true,
      notTTYSchedule: LINES_AFTER_MS,
    };
  }
}

/** Not finite where nothing is done yet. */
function durationOf(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'unknown time';
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

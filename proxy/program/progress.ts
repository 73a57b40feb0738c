import type { CommandContext } from './command-context.ts';

/** Between two words about it: on a terminal one line that is written anew, elsewhere plain lines that are few. */
const TERMINAL_MS = 200;
const LINES_MS = 30_000;
const CLEAR_LINE = '\r\u001b[K';

/** How far a long piece of work is, on stderr, with its rate and the time that is left. */
export class Progress {
  readonly #what: string;
  readonly #warn: (text: string) => void;
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #startedMs = performance.now();
  #toldMs = performance.now();
  #done = 0;
  #isShown = false;

  constructor({ warn }: CommandContext, what: string) {
    this.#what = what;
    this.#warn = warn;
  }

  add(done: number, of: number): void {
    this.#done += done;
    const nowMs = performance.now();
    if (nowMs - this.#toldMs < (this.#isTerminal ? TERMINAL_MS : LINES_MS)) return;
    this.#toldMs = nowMs;
    const perS = (this.#done * 1_000) / (nowMs - this.#startedMs);
    const leftS = Math.ceil(Math.max(0, of - this.#done) / perS);
    const percent = of === 0 ? 100 : Math.floor((this.#done * 100) / of);
    const line = `${percent}% of ${of} ${this.#what}, ${Math.round(perS)}/s, ${leftS} s left`;
    if (this.#isTerminal) process.stderr.write(`${CLEAR_LINE}${line}`);
    else this.#warn(`${line}\n`);
    this.#isShown = true;
  }

  /** Carries out what writes beside it. */
  above(write: () => void): void {
    this.end();
    write();
  }

  /** Nothing of it stays on a terminal. */
  end(): void {
    if (this.#isShown && this.#isTerminal) process.stderr.write(CLEAR_LINE);
    this.#isShown = false;
  }
}

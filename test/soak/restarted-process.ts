import { killAtOnce, type StartedProcess, stopInOrder } from '../fixtures/processes/child-process.ts';

/** A process that is killed and started again, whatever it is; one life after the other. */
export class RestartedProcess {
  readonly name: string;
  readonly #start: () => StartedProcess;
  readonly #onReady: (line: { readonly url?: string } | null) => void;
  readonly #supervisedCode: number | null;
  #life: StartedProcess | null = null;
  kills = 0;

  /**
   * @param onReady told the first line of each life that comes so far, and null when the life is over
   * @param supervisedCode the exit code upon which a supervisor starts it again; null where it never ends by itself
   */
  constructor(
    name: string,
    start: () => StartedProcess,
    onReady: (line: { readonly url?: string } | null) => void,
    supervisedCode: number | null = null,
  ) {
    this.name = name;
    this.#start = start;
    this.#onReady = onReady;
    this.#supervisedCode = supervisedCode;
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  /** Of the process that is up; null where none is. */
  get pid(): number | null {
    return this.#life?.child.pid ?? null;
  }

  /** Starts a life without waiting for it to be ready. */
  start(): void {
    const life = this.#start();
    this.#life = life;
    life.firstLine.then(
      (line) => {
        if (this.#life === life) this.#onReady(line);
      },
      // Killed before it was ready, or told by `whenReady`.
      () => undefined,
    );
    void life.ended.then((code) => {
      if (this.#life !== life || code === null || code !== this.#supervisedCode) return;
      this.#onReady(null);
      this.start();
    });
  }

  /** @throws Error when the process ends before it is ready, or is too slow */
  async whenReady(): Promise<void> {
    await this.#life?.firstLine;
  }

  /** `kill -9`. Returns the instant, in ms since 1970. */
  async kill(): Promise<number> {
    const life = this.#life;
    this.#life = null;
    this.#onReady(null);
    this.kills++;
    const atMs = Date.now();
    if (life !== null) await killAtOnce(life);
    return atMs;
  }

  /** SIGSTOP: what is connected stays so, and hears nothing until `resume`. */
  pause(): void {
    this.#life?.child.kill('SIGSTOP');
  }

  resume(): void {
    this.#life?.child.kill('SIGCONT');
  }

  /** @throws Error when it does not end in order */
  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = null;
    this.#onReady(null);
    if (life !== null) await stopInOrder(life);
  }

  /** Whether it has ended by itself, and nobody starts it again. */
  get hasEnded(): boolean {
    const exitCode = this.#life?.child.exitCode ?? null;
    return exitCode !== null && exitCode !== this.#supervisedCode;
  }
}

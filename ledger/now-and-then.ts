/** Work that is done now and then by the clock, and whenever it is asked for; never twice at once. It tells itself what fails. */
export class NowAndThen<Done> {
  readonly #work: () => Promise<Done>;
  readonly #timer: NodeJS.Timeout;
  #underWay: Promise<Done> | null = null;

  constructor(everyMs: number, work: () => Promise<Done>) {
    this.#work = work;
    this.#timer = setInterval(() => void this.now(), everyMs);
  }

  /** What is under way already is it. */
  now(): Promise<Done> {
    this.#underWay ??= this.#work().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  /** By the clock no more. */
  stop(): void {
    clearInterval(this.#timer);
  }

  /** The same, until what is under way has ended. */
  async close(): Promise<void> {
    this.stop();
    await this.#underWay;
  }
}

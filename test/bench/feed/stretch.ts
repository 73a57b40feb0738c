import type { FeedResult, FillJob } from './feed-protocol.ts';

/** The clock starts with the acknowledgement that completes the warm-up, and stops with the last one. */
export class Stretch {
  readonly #job: FillJob;
  readonly #done = Promise.withResolvers<FeedResult>();
  #published = 0;
  #batches = 0;
  #start: { readonly ms: number; readonly cpu: NodeJS.CpuUsage; readonly published: number } | null = null;

  constructor(fill: FillJob) {
    this.#job = fill;
  }

  get done(): Promise<FeedResult> {
    return this.#done.promise;
  }

  acknowledged(messages: number): void {
    this.#published += messages;
    if (this.#start !== null) this.#batches++;
    if (this.#start === null && this.#published >= this.#job.warmUp)
      this.#start = { ms: performance.now(), cpu: process.cpuUsage(), published: this.#published };
    if (this.#start === null || this.#published < this.#job.events) return;
    const { user, system } = process.cpuUsage(this.#start.cpu);
    this.#done.resolve({
      seconds: (performance.now() - this.#start.ms) / 1000,
      cpuUs: user + system,
      events: this.#published - this.#start.published,
      batches: this.#batches,
    });
  }
}

import type { Logger } from 'pino';
import type { Configuration } from '../../contracts/configuration.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { ProxyId } from '../../contracts/ids.ts';
import { untilLogAnswers } from '../../ledger/until-log-answers.ts';
import { ClockWatch } from './clock-watch.ts';
import { newestEvent } from './newest-event.ts';
import { ServerSkew } from './server-skew.ts';
import { TimePassed } from './time-passed.ts';

interface GatewayClockOptions {
  readonly wall: () => number;
  readonly monotonic: () => number;
  readonly bounds: Configuration['clock'];
  /** Null where it is the only one: then nobody's clock need agree with it. */
  readonly proxy: ProxyId | null;
  readonly logger: Logger;
}

/** The clock of a gateway: the machine's, watched for jumps and, where the log's server stamps events, for skew. */
export class GatewayClock {
  /** By the clocks as the machine has them: what they say of a length is not what they say of an instant. */
  readonly passed: TimePassed;
  readonly #options: GatewayClockOptions;
  readonly #watch: ClockWatch;
  readonly #closing = new AbortController();
  #skew: ServerSkew | null = null;

  constructor(options: GatewayClockOptions) {
    const { wall, monotonic, bounds, logger } = options;
    this.passed = new TimePassed(wall, monotonic);
    this.#options = options;
    this.#watch = new ClockWatch({ wall, monotonic, ...bounds, logger });
  }

  get now(): () => number {
    return this.#watch.now;
  }

  get jumps(): number {
    return this.#watch.jumps;
  }

  /** Ahead of the clock of the log's server; 0 where it has none. */
  get skewMs(): number {
    return this.#skew?.skewMs ?? 0;
  }

  /** Why nothing may be admitted, leased or written for good by this clock; null where it may. */
  doubt(): string | null {
    return this.#watch.doubt() ?? this.#skew?.doubt() ?? null;
  }

  /** As `ClockWatch.hasBeen`: what is known where the log cannot be asked. */
  hasBeen(knownMs: number, what: string): void {
    this.#watch.hasBeen(knownMs, what);
  }

  /** Compares with the log, and on with its server's clock; waits for the log. Once. @throws Error when closed meanwhile */
  async compare(log: EventLog): Promise<void> {
    const { proxy, logger } = this.#options;
    const newest = await untilLogAnswers(() => newestEvent(log), {
      signal: this.#closing.signal,
      onFirst: (error) => logger.warn({ err: error }, 'the event log does not answer; the clock waits for it'),
    });
    if (newest === null) return;
    if (newest.atMs !== null) this.#watch.hasBeen(newest.atMs, "the ledger's newest event");
    if (!newest.isStamped || proxy === null) return;
    this.#skew = this.#skewFrom(log, proxy);
    await this.#skew.start();
  }

  #skewFrom(log: EventLog, proxy: ProxyId): ServerSkew {
    const { monotonic, bounds, logger } = this.#options;
    const watch = this.#watch;
    const jumps = (): number => watch.jumps;
    const mayCompare = (): boolean => watch.doubt() === null;
    return new ServerSkew({ log, proxy, now: watch.now, monotonic, jumps, mayCompare, skewMs: bounds.skewMs, logger });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#watch.close();
    await this.#skew?.close();
  }
}

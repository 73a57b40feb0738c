import type { Logger } from 'pino';

interface ClockWatchOptions {
  /** The machine's wall clock: milliseconds since 1970. Anybody can set it. */
  readonly wall: () => number;
  /** Milliseconds by a clock that nobody sets; it stands while suspended: then the wall clock jumps, as is wanted. */
  readonly monotonic: () => number;
  /** How far the two may drift apart within two `steadyMs`: more is a jump. */
  readonly jumpMs: number;
  /** How long readings must agree before the wall clock is believed again. */
  readonly steadyMs: number;
  readonly logger: Logger;
}

/** The timer sees what no request has asked for: a jump there and back. */
const LOOK_MS = 1_000;
/** A reading of both clocks that took longer was interrupted between the two, and is made again. */
const READING_MS = 20;
const READINGS_MAX = 5;

/** How far the wall clock has been from the monotonic one since a moment. */
interface Readings {
  fromMs: number;
  least: number;
  most: number;
}

/**
 * The gateway's clock. It is the machine's, so long as that goes as fast as the monotonic clock. From the
 * instant of a jump on, in either direction, time goes on as it went before, until readings have agreed for `steadyMs`;
 * then it is the machine's again, whatever that says. So no instant that the gateway writes comes from a clock that has
 * just jumped; and `doubt` says why nothing may be admitted or be written for good meanwhile.
 *
 *   believed ──(jump)──▶ in doubt ──(steady)──▶ believed
 *                         ▲     └─(jump)─┐
 *                         └──────────────┘
 *
 * Every call looks at both clocks: what comes in the first turn after a resume sees the jump.
 */
export class ClockWatch {
  readonly #options: ClockWatchOptions;
  readonly #timer: NodeJS.Timeout;
  /** Of the last reading: by the monotonic clock, and what the wall clock has over it. */
  #atMs = 0;
  #offset = 0;
  /** What the last believed reading had. */
  #trusted: number;
  #readings: Readings;
  #earlier: Readings | null = null;
  #doubt: string | null = null;
  #jumps = 0;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
    this.#read();
    this.#trusted = this.#offset;
    this.#readings = this.#start();
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  /** Milliseconds since 1970, whole. */
  readonly now = (): number => {
    this.#look();
    return Math.round((this.#doubt === null ? this.#offset : this.#trusted) + this.#atMs);
  };

  /** Why the time is not to be relied on; null where it is. */
  doubt(): string | null {
    this.#look();
    return this.#doubt;
  }

  /** Jumps since the start, and disagreements with what the ledger knows. */
  get jumps(): number {
    return this.#jumps;
  }

  /** Something known of the past. A clock behind it is believed once it was steady for a while; ahead is right. */
  hasBeen(knownMs: number, what: string): void {
    const isBehind = behindWhatIsKnown(this.now(), knownMs, { jumpMs: this.#options.jumpMs, what });
    if (isBehind !== null && this.#doubt === null) this.#enterDoubt(isBehind);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    this.#read();
    const spread = this.#spread();
    if (spread > this.#options.jumpMs) this.#enterDoubt(`the clock of this machine has jumped by ${lengthOf(spread)}`);
    else if (this.#doubt === null) this.#trust();
    else if (this.#atMs - this.#readings.fromMs >= this.#options.steadyMs) this.#endDoubt();
  }

  /** Sets #atMs and #offset. */
  #read(): void {
    const { wall, monotonic } = this.#options;
    for (let readings = 1; ; readings++) {
      const beforeMs = monotonic();
      const wallMs = wall();
      const afterMs = monotonic();
      this.#atMs = afterMs;
      this.#offset = wallMs - afterMs;
      if (afterMs - beforeMs <= READING_MS || readings >= READINGS_MAX) return;
    }
  }

  /** Takes the last reading in; how far those of the last while are apart. */
  #spread(): number {
    const readings = this.#readings;
    if (this.#offset < readings.least) readings.least = this.#offset;
    if (this.#offset > readings.most) readings.most = this.#offset;
    const earlier = this.#earlier;
    if (earlier === null) return readings.most - readings.least;
    return Math.max(readings.most, earlier.most) - Math.min(readings.least, earlier.least);
  }

  #trust(): void {
    this.#trusted = this.#offset;
    if (this.#atMs - this.#readings.fromMs < this.#options.steadyMs) return;
    this.#earlier = this.#readings;
    this.#readings = this.#start();
  }

  /** Each further jump starts the waiting anew. */
  #enterDoubt(what: string): void {
    const { steadyMs, logger } = this.#options;
    this.#jumps++;
    this.#doubt = `${what}; nothing is admitted until it has been steady for ${lengthOf(steadyMs)}`;
    this.#startAnew();
    logger.error({ jumps: this.#jumps }, this.#doubt);
  }

  #endDoubt(): void {
    this.#options.logger.warn({ changedByMs: Math.round(this.#offset - this.#trusted) }, 'the clock is steady again');
    this.#doubt = null;
    this.#trusted = this.#offset;
    this.#startAnew();
  }

  #startAnew(): void {
    this.#readings = this.#start();
    this.#earlier = null;
  }

  #start(): Readings {
    return { fromMs: this.#atMs, least: this.#offset, most: this.#offset };
  }
}

/** In words, by how much a clock is behind something of the past that is known; null where it is within the bound. */
export function behindWhatIsKnown(
  nowMs: number,
  knownMs: number,
  { jumpMs, what }: { readonly jumpMs: number; readonly what: string },
): string | null {
  const behindMs = knownMs - nowMs;
  return behindMs <= jumpMs ? null : `the clock of this machine is ${lengthOf(behindMs)} behind ${what}`;
}

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
] as const;

/** In the greatest unit of which there are two at least, so that it says what matters. */
export function lengthOf(ms: number): string {
  const unit = UNITS.find(([, length]) => ms >= 2 * length);
  return unit === undefined ? `${Math.round(ms / 100) / 10} s` : `${Math.round(ms / unit[1])} ${unit[0]}`;
}

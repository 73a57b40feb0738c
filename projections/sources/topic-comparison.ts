import { type EventLog, isLogAway, type RecordedEvent } from '../../contracts/event-log.ts';
import type { Position } from '../../contracts/ids.ts';
import { VIEW_LIMITS } from '../limits.ts';
import { type Missing, TopicLag } from './topic-lag.ts';
import { SourceBehindError } from './view-source.ts';

interface TopicComparisonOptions {
  readonly topic: string;
  readonly log: EventLog;
  readonly isFolded: (event: RecordedEvent) => boolean;
  /** Up to where the views were found to hold all of the log; null is the beginning. */
  readonly verified: Position | null;
  /** The highest position that came. */
  readonly highest: Position | null;
  /** The views hold what the log held at the last look. */
  readonly onLive: () => void;
  /** They do not (SourceBehindError, told once), or nobody can tell. */
  readonly onBehind: (error: Error) => void;
  /** The log refuses to be read. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * Compares views that are fed from a topic with the log, now and then, and says whether they are live:
 *
 *   behind   from where they were last found whole, event by event; what they lack then has to come
 *   live     only what is newer than anything that came; if it has not come by the next look, they are behind
 *
 * Either way what has not come by the next look is told, once.
 */
export class TopicComparison {
  readonly #options: TopicComparisonOptions;
  readonly #lag: TopicLag;
  #verified: Position | null;
  #highest: Position | null;
  /** The topic was read to its end and is in sight. */
  #isOn = false;
  #isLive = false;
  /** It was told last that the topic is behind. */
  #isBehind = false;
  /** What was found at the last look. */
  #missing: Missing | null = null;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;

  constructor(options: TopicComparisonOptions) {
    this.#options = options;
    this.#lag = new TopicLag(options.log, options.isFolded);
    this.#verified = options.verified;
    this.#highest = options.highest;
  }

  get verified(): Position | null {
    return this.#verified;
  }

  /** The topic was read to its end. */
  start(): void {
    this.#isOn = true;
    this.#look();
  }

  /** The topic is out of sight; null says nothing about it. */
  stop(error: Error | null): void {
    this.#isOn = false;
    this.#isLive = false;
    this.#isBehind = false;
    this.#missing = null;
    this.#stopTimer();
    if (error !== null) this.#options.onBehind(error);
  }

  /** Nothing of what came counts any more. */
  startOver(): void {
    this.stop(null);
    this.#verified = null;
    this.#highest = null;
  }

  /** Events have come and are in the views. */
  folded(events: readonly RecordedEvent[]): void {
    for (const { position } of events) if (position > (this.#highest ?? -1)) this.#highest = position;
    if (this.#isLive || this.#missing === null || this.#lag.stillMissing(this.#missing)) return;
    this.#allHasCome(this.#missing);
  }

  async close(): Promise<void> {
    this.stop(null);
    await this.#looking;
  }

  /** All that was missing has come: the views are as the log was then. */
  #allHasCome({ end, isCut }: Missing): void {
    this.#missing = null;
    this.#verified = end;
    if (isCut) this.#look();
    else this.#live();
  }

  #live(): void {
    if (this.#isLive) return;
    this.#isLive = true;
    this.#isBehind = false;
    this.#options.onLive();
  }

  #behind(error: Error): void {
    this.#isLive = false;
    this.#isBehind = error instanceof SourceBehindError;
    this.#options.onBehind(error);
  }

  #look(): void {
    this.#stopTimer();
    this.#looking ??= this.#compare()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#looking = null;
        if (!this.#isOn) return;
        this.#stopTimer();
        this.#timer = setTimeout(() => this.#look(), VIEW_LIMITS.lagLookMs);
      });
  }

  async #compare(): Promise<void> {
    if (!this.#isOn) return;
    this.#checkLast();
    const found = await this.#lag.look(this.#isLive ? this.#highest : this.#verified);
    if (!this.#isOn) return;
    this.#missing = found;
    // Some of it may have come meanwhile.
    if (!this.#isLive && !this.#lag.stillMissing(found)) this.#allHasCome(found);
  }

  /** What was missing at the last look has had its time to come. */
  #checkLast(): void {
    const last = this.#missing;
    this.#missing = null;
    if (last === null) return;
    if (this.#lag.stillMissing(last)) {
      if (this.#isBehind) return;
      const lacking = `the topic ${this.#options.topic} lags behind the log: ${nameOf(last)} has not come`;
      this.#behind(new SourceBehindError(`${lacking}, its relay is away or behind`));
    } else if (this.#isLive) this.#verified = last.end;
  }

  /** With the log away nobody can tell whether the topic has all of it: the views may be older by the moment. */
  #failed(error: unknown): void {
    if (!this.#isOn) return;
    if (isLogAway(error)) this.#behind(error);
    else this.#options.onFailed(error);
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

const nameOf = ({ events }: Missing): string => events.map(({ stream, revision }) => `${stream} ${revision}`)[0] ?? '';

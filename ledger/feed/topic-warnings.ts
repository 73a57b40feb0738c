import type { Logger } from 'pino';
import { doubtsOf } from './topic-faults.ts';
import type { TopicLook } from './topic-look.ts';

/** Warns of a topic that can lose messages: of each doubt once, however often the topic is looked at. */
export class TopicWarnings {
  readonly #topic: string;
  readonly #logger: Logger | undefined;
  readonly #warned = new Set<string>();
  #hasWarnedOfBlind = false;

  constructor(topic: string, logger: Logger | undefined) {
    this.#topic = topic;
    this.#logger = logger;
  }

  warn(look: TopicLook): void {
    const doubts = doubtsOf(look).filter((doubt) => !this.#warned.has(doubt));
    for (const doubt of doubts) this.#warned.add(doubt);
    if (doubts.length > 0) this.#logger?.warn({ topic: this.#topic, doubts }, 'the topic can lose messages');
    if (look.settings !== null || this.#hasWarnedOfBlind) return;
    this.#hasWarnedOfBlind = true;
    this.#logger?.info(
      { topic: this.#topic },
      'the settings of the topic cannot be looked at (the right DescribeConfigs): whether it is compacted is not known',
    );
  }
}

import { BackOff } from '../back-off.ts';
import { FEED_LIMITS } from '../feed/limits.ts';
import { RELAY_LIMITS } from './limits.ts';
import { assertTopicIsOwn, type OwnTopicOptions } from './own-topic.ts';
import { PublishError } from './publisher.ts';
import type { RelayOptions } from './relay-options.ts';

type ReachOptions = OwnTopicOptions & Pick<RelayOptions, 'publisher' | 'metrics'>;

/** Whether a relay that is not active reaches Kafka: one that does not claims nothing. */
export class KafkaReach {
  readonly #options: ReachOptions;
  readonly #backOff = new BackOff({ ...FEED_LIMITS.backOff, maxMs: RELAY_LIMITS.lagCheckMs });
  #isThere = false;
  #hasFailed = false;

  constructor(options: ReachOptions) {
    this.#options = options;
  }

  /** It was lost under a claim: the next claim waits until it is reached again. */
  isLost(): void {
    this.#isThere = false;
    this.#hasFailed = true;
  }

  /**
   * Answered from the last try where that was good: what has come since is found out under a claim.
   * @throws as `try`
   */
  async isThere(): Promise<boolean> {
    if (this.#isThere) return true;
    if (this.#hasFailed) await this.#backOff.wait(this.#options.signal);
    if (!this.#options.signal.aborted) await this.try();
    return this.#isThere;
  }

  /**
   * Also tells a relay that is going to stand by that the topic is not the configuration's, or not this ledger's: at once,
   * before the publisher is closed, which its relay does at its end.
   * @throws PublishError `mismatch`, LedgerLostError
   */
  async try(): Promise<void> {
    const { publisher, logger, metrics, signal } = this.#options;
    if (signal.aborted) return;
    const stop = (): void => void publisher.close();
    signal.addEventListener('abort', stop);
    try {
      const state = await publisher.connect(signal);
      if (signal.aborted) return;
      await assertTopicIsOwn(state, this.#options);
      if (this.#hasFailed) logger.info('Kafka answers again');
      this.#isThere = true;
      this.#hasFailed = false;
      this.#backOff.reset();
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof PublishError) || error.kind === 'mismatch') throw error;
      this.isLost();
      logger.warn({ reason: error.message }, 'Kafka does not answer; nothing is claimed before it does');
    } finally {
      signal.removeEventListener('abort', stop);
      metrics.isKafkaUp = this.#isThere;
    }
    await publisher.close();
  }
}

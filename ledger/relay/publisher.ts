import type { FeedMessage } from '../../contracts/feed-message.ts';
import type { TopicTail } from '../feed/topic-tail.ts';

/** Where the relay publishes to. One adapter: kafkajs. */
export interface Publisher {
  /**
   * Connects anew, whatever was before; creates the topic where there is none, unless the signal is aborted by then.
   * @throws PublishError `away`, `mismatch`
   */
  connect(signal: AbortSignal): Promise<TopicState>;

  /** Looks at the topic beside whatever is under way. @throws PublishError `away`, `mismatch` */
  look(): Promise<TopicState>;

  /**
   * Sends a batch and resolves when all of it is acknowledged by all replicas in sync. After an error any part of it may
   * have been written, and `connect` comes first. One call at a time. @throws PublishError `away`, `too_large`, `mismatch`
   */
  publish(messages: readonly FeedMessage[]): Promise<void>;

  /** Idempotent. */
  close(): Promise<void>;
}

export interface TopicState {
  /** Nothing was ever written to it. */
  readonly isEmpty: boolean;
  readonly tail: TopicTail;
}

/**
 * `away`: may work later. `too_large`: not with these messages together, or not with this one. `mismatch`: the topic is
 * not what the configuration says, and to go on would break the order within accounts.
 */
type PublishErrorKind = 'away' | 'too_large' | 'mismatch';

export class PublishError extends Error {
  override readonly name = 'PublishError';
  readonly kind: PublishErrorKind;

  constructor(kind: PublishErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

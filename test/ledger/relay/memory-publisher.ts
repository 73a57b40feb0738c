import { type FeedMessage, readFeedMessage } from '../../../contracts/feed-message.ts';
import type { TailEvent, TopicTail } from '../../../ledger/feed/topic-tail.ts';
import { PublishError, type Publisher, type TopicState } from '../../../ledger/relay/publisher.ts';

/** A topic of one partition in memory, which every publisher of it writes to at once. */
export class MemoryPublisher implements Publisher {
  readonly messages: FeedMessage[];
  /** Messages of another application. */
  strangers = 0;
  looks = 0;
  /** What a look is answered with. */
  fault: PublishError | null = null;
  /** Of one send, its values and what is in its events' metadata. */
  charactersMax = Number.POSITIVE_INFINITY;

  constructor(messages: FeedMessage[] = []) {
    this.messages = messages;
  }

  async connect(): Promise<TopicState> {
    return this.#state;
  }

  async look(): Promise<TopicState> {
    this.looks++;
    if (this.fault !== null) throw this.fault;
    return this.#state;
  }

  async publish(messages: readonly FeedMessage[]): Promise<void> {
    const characters = messages.reduce(
      (sum, { value, headers }) => sum + value.length + headers.ce_eventmetadata.length,
      0,
    );
    if (characters > this.charactersMax) throw new PublishError('too_large', 'the message is too large');
    this.messages.push(...messages);
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  get #state(): TopicState {
    const events = this.messages.map((message): TailEvent => ({ ...readFeedMessage(message), partition: 0 }));
    const tail: TopicTail = { events, strangers: this.strangers };
    return { isEmpty: this.messages.length + this.strangers === 0, tail };
  }
}

import { type FeedMessage, readFeedMessage } from '../../../contracts/feed-message.ts';
import type { TailEvent, TopicTail } from '../../../ledger/feed/topic-tail.ts';
import type { Publisher, TopicState } from '../../../ledger/relay/publisher.ts';

/** A topic of one partition in memory, which every publisher of it writes to at once. */
export class MemoryPublisher implements Publisher {
  readonly messages: FeedMessage[];
  /** Messages of another application. */
  strangers = 0;
  connections = 0;

  constructor(messages: FeedMessage[] = []) {
    this.messages = messages;
  }

  async connect(): Promise<TopicState> {
    this.connections++;
    return { isEmpty: this.messages.length + this.strangers === 0, tail: this.tail };
  }

  async publish(messages: readonly FeedMessage[]): Promise<void> {
    this.messages.push(...messages);
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  get tail(): TopicTail {
    const events = this.messages.map((message): TailEvent => ({ ...readFeedMessage(message), partition: 0 }));
    return { events, strangers: this.strangers };
  }
}

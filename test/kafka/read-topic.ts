import type { Subscription } from '../../contracts/event-log.ts';
import type { FeedEvent } from '../../contracts/feed-message.ts';
import { openFeed } from '../../ledger/feed/open-feed.ts';
import { eventually } from './eventually.ts';

export interface TopicReader {
  /** All messages so far, in the order of their partitions, however often an event comes. */
  readonly events: FeedEvent[];
  /** Resolves when the condition holds for what was read. */
  until(what: string, holds: (events: readonly FeedEvent[]) => boolean, withinMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** Everything that is on a topic, from its beginning on. */
export function readTopic(brokers: readonly string[], topic: string): TopicReader {
  const events: FeedEvent[] = [];
  let failure: Error | null = null;
  const feed: Subscription = openFeed({
    kafka: { brokers: [...brokers], topic, ssl: false, sasl: null },
    clientId: 'test-reader',
    from: 'beginning',
    onBatch: (_partition, batch) => {
      events.push(...batch);
    },
    onStopped: (error) => {
      failure = error;
    },
  });
  return {
    events,
    until: (what, holds, withinMs) =>
      eventually(
        `${what} on the topic ${topic}`,
        () => {
          if (failure !== null) throw failure;
          return holds(events);
        },
        withinMs,
      ),
    close: () => feed.close(),
  };
}

/** The order in which events first came, by stream. */
export function firstRevisions(events: readonly FeedEvent[]): Map<string, number[]> {
  const byStream = new Map<string, number[]>();
  const seen = new Set<string>();
  for (const { stream, revision } of events) {
    if (seen.has(`${stream} ${revision}`)) continue;
    seen.add(`${stream} ${revision}`);
    byStream.set(stream, [...(byStream.get(stream) ?? []), revision]);
  }
  return byStream;
}

import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import type { TailEvent } from '../feed/topic-tail.ts';
import type { KnownEvent, LedgerKnowledge } from './known-ledger.ts';

export const topicSource = (topic: string): string => `the topic ${topic}`;

/**
 * What a topic's last messages know of their ledger: of each partition the newest event, by its position, because those
 * that came again may stand behind it. One for each ledger that they name, and one for those that name none.
 */
export function knowledgeOfTopic(topic: string, tail: readonly TailEvent[]): LedgerKnowledge[] {
  const byLedger = new Map<string, { identity: LedgerIdentity | null; newest: Map<number, TailEvent> }>();
  for (const event of tail) {
    const { ledger, partition, position } = event;
    const name = ledger === null ? '' : `${ledger.ledgerId} ${ledger.generation}`;
    const known = byLedger.get(name) ?? { identity: ledger, newest: new Map<number, TailEvent>() };
    byLedger.set(name, known);
    if (position > (known.newest.get(partition)?.position ?? -1)) known.newest.set(partition, event);
  }
  return [...byLedger.values()].map(({ identity, newest }) => ({
    source: topicSource(topic),
    identity,
    events: [...newest.values()].map(({ stream, revision, id }): KnownEvent => ({ stream, revision, id })),
  }));
}

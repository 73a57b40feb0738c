import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Subscription } from '../../../contracts/event-log.ts';
import type { Revision, StreamName } from '../../../contracts/ids.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { type ConsumedBatch, consumeFeed, type FeedPositions } from '../../../ledger/feed/consume-feed.ts';
import { FeedGapError } from '../../../ledger/feed/new-events.ts';
import { OtherLedgerError } from '../../../ledger/feed/one-ledger.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { eventually } from '../../kafka/eventually.ts';
import { lostBroker, WAYS_TO_BE_LOST } from '../../kafka/lost-broker.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { type Broker, startBroker } from '../../kafka/start-broker.ts';
import { planMessage, TopicWriter, WRITTEN_OF } from '../../kafka/topic-writer.ts';

const broker: Broker | null = await startBroker();

/** What a consumer keeps with its data. */
class Kept implements FeedPositions {
  readonly offsets = new Map<number, bigint>();
  readonly revisions = new Map<StreamName, Revision>();
  of: LedgerIdentity | null = null;

  ledger(): LedgerIdentity | null {
    return this.of;
  }

  nextOffset(partition: number): bigint | null {
    return this.offsets.get(partition) ?? null;
  }

  async lastRevision(stream: StreamName): Promise<Revision | null> {
    return this.revisions.get(stream) ?? null;
  }

  keep({ partition, nextOffset, revisions, ledger }: ConsumedBatch): void {
    this.of = ledger;
    this.offsets.set(partition, nextOffset);
    for (const [stream, revision] of revisions) this.revisions.set(stream, revision);
  }
}

interface Member extends Subscription {
  readonly seen: string[];
  stopped: Error | null;
}

describe.skipIf(broker === null)('a consumer of the feed', () => {
  let writer: TopicWriter;
  let topic: string;
  let brokers: readonly string[];

  const join = (positions: Kept | 'group', onEvents?: (batch: ConsumedBatch) => void): Member => {
    const member: Member = { seen: [], stopped: null, close: () => reading.close() };
    const reading = consumeFeed({
      kafka: { brokers: [...brokers], topic, ssl: false, sasl: null },
      clientId: 'test',
      groupId: `group-${topic}`,
      positions,
      // The mock broker keeps a group that was left waiting for as long as a session.
      sessionMs: 6_000,
      onEvents: (batch) => {
        onEvents?.(batch);
        member.seen.push(...batch.events.map(({ stream, revision }) => `${stream} ${revision}`));
        if (positions !== 'group') positions.keep(batch);
      },
      onStopped: (error) => {
        member.stopped = error;
      },
    });
    return endedLater(member);
  };

  beforeEach(async () => {
    if (broker === null) return;
    topic = newTopicName('consume');
    brokers = broker.brokers;
    await broker.createTopic(topic);
    writer = new TopicWriter(broker.brokers, topic);
  });

  afterEach(() => writer.close());

  afterAll(() => broker?.stop());

  it('sees each event once, however often it is on the topic, also across restarts', async () => {
    const kept = new Kept();
    await writer.write(planMessage('acct_1', 0), planMessage('acct_1', 1), planMessage('acct_1', 0));
    const first = join(kept);
    await eventually('it reads all', () => kept.offsets.get(1) === 3n);
    await first.close();
    await writer.write(planMessage('acct_1', 1), planMessage('acct_1', 2), planMessage('acct_2', 0));
    const second = join(kept);
    await eventually('it reads all', () => kept.offsets.get(1) === 5n && kept.offsets.get(2) === 1n);
    expect(first.seen).toEqual(['account-acct_1 0', 'account-acct_1 1']);
    expect(second.seen.sort()).toEqual(['account-acct_1 2', 'account-acct_2 0']);
  });

  it('begins where the kept offset says, not where the topic does', async () => {
    // Read from the beginning, this would be a gap.
    await writer.write(planMessage('acct_1', 7), planMessage('acct_1', 0), planMessage('acct_1', 1));
    const kept = new Kept();
    kept.offsets.set(1, 1n);
    const member = join(kept);
    await eventually('it reads the rest', () => member.stopped !== null || kept.offsets.get(1) === 3n);
    expect(member.stopped).toBeNull();
    expect(member.seen).toEqual(['account-acct_1 0', 'account-acct_1 1']);
  });

  it('stops at a gap, says where it is, and has taken nothing of what lies behind it', async () => {
    await writer.write(planMessage('acct_1', 0));
    const kept = new Kept();
    const member = join(kept);
    await eventually('it reads the first', () => member.seen.length === 1);
    await writer.write(planMessage('acct_1', 2));
    await eventually('it stops', () => member.stopped !== null);
    expect(member.stopped).toBeInstanceOf(FeedGapError);
    expect(member.stopped?.message).toBe('account-acct_1 has a gap in the feed: revision 2 came where 1 is next');
    expect(member.seen).toEqual(['account-acct_1 0']);
    expect(kept.offsets.get(1)).toBe(1n);
  });

  it('stops at a message of another ledger than those before it, across restarts, and takes those from before as its own', async () => {
    await writer.write(planMessage('acct_1', 0, null), planMessage('acct_1', 1), planMessage('acct_1', 2, null));
    const kept = new Kept();
    const first = join(kept);
    await eventually('it reads them', () => kept.offsets.get(1) === 3n);
    await first.close();
    expect(kept.of).toEqual(WRITTEN_OF);
    await writer.write(planMessage('acct_2', 0, { ...WRITTEN_OF, generation: 2 }));
    const second = join(kept);
    await eventually('it stops', () => second.stopped !== null);
    expect(second.stopped).toBeInstanceOf(OtherLedgerError);
    expect(second.seen).toEqual([]);
  });

  it('keeps nothing of a batch whose handler throws, and has it again when it is started again', async () => {
    await writer.write(planMessage('acct_1', 0));
    const kept = new Kept();
    const failing = join(kept, () => {
      throw new Error('the disk is full');
    });
    await eventually('it stops', () => failing.stopped !== null);
    await failing.close();
    expect(failing.stopped?.message).toBe('the disk is full');
    const again = join(kept);
    await eventually('it reads it again', () => again.seen.length === 1);
  });

  it('goes on behind what it has committed where the group keeps the offsets', async () => {
    await writer.write(planMessage('acct_1', 0), planMessage('acct_1', 1), planMessage('acct_1', 1));
    const first = join('group');
    await eventually('it reads both', () => first.seen.length === 2);
    // A commit follows the handler; a member that closes has made it.
    await first.close();
    await writer.write(planMessage('acct_1', 2));
    const second = join('group');
    await eventually('it reads the third', () => second.seen.length > 0);
    expect(second.seen).toEqual(['account-acct_1 2']);
  });

  it.each(WAYS_TO_BE_LOST)('joins its group where the first of its brokers is %s', async (how) => {
    const lost = await lostBroker(how);
    brokers = [lost.address, ...brokers];
    await writer.write(planMessage('acct_1', 0));
    const member = join(new Kept());
    await eventually('it reads it', () => member.seen.length === 1);
    lost.close();
  });
});

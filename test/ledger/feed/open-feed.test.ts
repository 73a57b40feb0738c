import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Subscription } from '../../../contracts/event-log.ts';
import { FEED_LIMITS } from '../../../ledger/feed/limits.ts';
import { type OpenFeedOptions, openFeed } from '../../../ledger/feed/open-feed.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { type BrokerPath, startBrokerPath } from '../../kafka/broker-path.ts';
import { eventually } from '../../kafka/eventually.ts';
import { lostBroker, WAYS_TO_BE_LOST } from '../../kafka/lost-broker.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { type Broker, startBroker } from '../../kafka/start-broker.ts';
import { planMessage, TopicWriter } from '../../kafka/topic-writer.ts';

const COORDINATOR_NOT_AVAILABLE = 15;
/** The kind of a request. */
const JOIN_GROUP = 11;
const GROUP_AUTHORIZATION_FAILED = 30;

const broker: Broker | null = await startBroker();

interface Opened extends Subscription {
  /** `partition/revision` of each event, in the order in which they came. */
  readonly seen: string[];
  readonly offsets: Map<number, bigint>;
  readonly told: string[];
  /** Why it was dropped. */
  readonly reasons: string[];
  stopped: Error | null;
}

describe.skipIf(broker === null)('the feed, opened with offsets of one’s own', () => {
  let writer: TopicWriter;
  let topic: string;
  let brokers: readonly string[];

  const open = (
    from: OpenFeedOptions['from'],
    onBatch?: OpenFeedOptions['onBatch'],
    onSeen?: OpenFeedOptions['onSeen'],
  ): Opened => {
    const opened: Opened = {
      seen: [],
      offsets: new Map(),
      told: [],
      reasons: [],
      stopped: null,
      close: () => feed.close(),
    };
    const feed = openFeed({
      kafka: { brokers: [...brokers], topic, ssl: false, sasl: null },
      clientId: 'test',
      from,
      ...(onSeen === undefined ? {} : { onSeen, lookMs: 500 }),
      onBatch: async (partition, events, nextOffset) => {
        await onBatch?.(partition, events, nextOffset);
        opened.seen.push(...events.map(({ revision }) => `${partition}/${revision}`));
        opened.offsets.set(partition, nextOffset);
      },
      onCaughtUp: () => opened.told.push(`caught up at ${opened.seen.length}`),
      onDropped: ({ message }) => {
        opened.told.push('dropped');
        opened.reasons.push(message);
      },
      onStopped: (error) => {
        opened.stopped = error;
      },
    });
    return endedLater(opened);
  };

  beforeEach(async () => {
    if (broker === null) return;
    topic = newTopicName('open');
    brokers = broker.brokers;
    await broker.createTopic(topic);
    writer = new TopicWriter(broker.brokers, topic);
  });

  afterEach(() => writer.close());

  afterAll(() => broker?.stop());

  it.skipIf(broker?.kind === 'mock')('ends for good where its topic cannot be read by anybody of ours', async () => {
    await broker?.setTopic(topic, { 'compression.type': 'lz4' });
    const feed = open('beginning');
    await eventually('it ends', () => feed.stopped !== null);
    expect(feed.stopped?.message).toMatch(/has compression\.type=lz4/);
  });

  it.each([
    ['at its end', 0],
    ['before that', FEED_LIMITS.tailMessages],
  ])('ends for good where a batch of its topic cannot be read, %s', async (_where, behind) => {
    await writer.write(planMessage('acct_0', 0));
    await writer.writeLz4(planMessage('acct_0', 1));
    if (behind > 0) await writer.write(...Array.from({ length: behind }, (_, at) => planMessage('acct_0', 2 + at)));
    const feed = open('beginning');
    await eventually('it ends', () => feed.stopped !== null);
    expect(feed.stopped?.message).toMatch(
      /^open-\S+ partition 0 offset 1: a batch is compressed with codec 3, .* \(`gateway relay fill NEW`\)$/,
    );
    expect(feed.told).toEqual([]);
  });

  it('has every partition from the beginning, tells when it has caught up, and goes on', async () => {
    await writer.write(planMessage('acct_0', 0), planMessage('acct_1', 0), planMessage('acct_0', 1));
    const feed = open('beginning');
    await eventually('it catches up', () => feed.told.length > 0);
    expect(feed.told).toEqual(['caught up at 3']);
    await writer.write(planMessage('acct_1', 1), planMessage('acct_3', 0));
    await eventually('it goes on', () => feed.seen.length === 5);
    expect(feed.seen.filter((at) => at.startsWith('0/'))).toEqual(['0/0', '0/1']);
    expect(feed.seen.filter((at) => at.startsWith('1/'))).toEqual(['1/0', '1/1']);
    expect([...feed.offsets].sort()).toEqual([
      [0, 2n],
      [1, 2n],
      [3, 1n],
    ]);
    expect(feed.told).toEqual(['caught up at 3']);
  });

  it('has caught up with an empty topic at once', async () => {
    const feed = open('beginning');
    await eventually('it catches up', () => feed.told.length > 0);
    expect(feed.told).toEqual(['caught up at 0']);
  });

  it('begins each partition at the offset that is given, and the others at their beginning', async () => {
    await writer.write(...[0, 1, 2].flatMap((at) => [planMessage('acct_0', at), planMessage('acct_1', at)]));
    const feed = open(new Map([[0, 2n]]));
    await eventually('it catches up', () => feed.told.length > 0);
    expect(feed.seen.sort()).toEqual(['0/2', '1/0', '1/1', '1/2']);
  });

  it('reads a partition from its beginning where the topic does not have the offset', async () => {
    await writer.write(planMessage('acct_0', 0));
    const feed = open(new Map([[0, 20n]]));
    await eventually('it catches up', () => feed.told.length > 0);
    expect(feed.seen).toEqual(['0/0']);
  });

  it('calls its handler one batch at a time and awaits it', async () => {
    await writer.write(...[0, 1, 2, 3].map((partition) => planMessage(`acct_${partition}`, 0)));
    let running = 0;
    let most = 0;
    const feed = open('beginning', async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running--;
    });
    await eventually('it catches up', () => feed.told.length > 0);
    expect(feed.told).toEqual(['caught up at 4']);
    expect(most).toBe(1);
  });

  describe('of a fetch that brings more than is handed over at once', () => {
    const EVENTS = FEED_LIMITS.handedEvents * 3;
    // What one send has of a partition is a batch.
    const write = async (): Promise<void> => {
      const messages = Array.from({ length: EVENTS }, (_, at) => planMessage('acct_0', at));
      for (let at = 0; at < EVENTS; at += 50) await writer.write(...messages.slice(at, at + 50));
    };
    const all = Array.from({ length: EVENTS }, (_, at) => `0/${at}`);

    it('hands over one piece after the other, each with its offset, and all of them', async () => {
      await write();
      const pieces: string[] = [];
      const feed = open('beginning', (_partition, events, nextOffset) => {
        pieces.push(`${events.length} to ${nextOffset}`);
      });
      await eventually('it catches up', () => feed.told.length > 0);
      expect(feed.seen).toEqual(all);
      expect(pieces).toEqual([1, 2, 3].map((at) => `${FEED_LIMITS.handedEvents} to ${at * FEED_LIMITS.handedEvents}`));
      expect(feed.told).toEqual([`caught up at ${EVENTS}`]);
    });

    it('begins no further piece once it is closed, and goes on with that', async () => {
      await write();
      const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const feed = open('beginning', () => {
        begun.resolve();
        return held.promise;
      });
      await begun.promise;
      const closed = feed.close();
      held.resolve();
      await closed;
      expect(feed.seen).toEqual(all.slice(0, FEED_LIMITS.handedEvents));
      const again = open(feed.offsets);
      await eventually('it catches up', () => again.told.length > 0);
      expect([...feed.seen, ...again.seen]).toEqual(all);
    });

    it('hands over what stands before a message that is none of the feed’s', async () => {
      await write();
      const { key, value } = planMessage('acct_0', EVENTS);
      await writer.write({ key, value, headers: {} as never });
      const feed = open('beginning');
      await eventually('it stops', () => feed.stopped !== null);
      expect(feed.seen).toEqual(all);
      expect(feed.stopped?.message).toBe(`${topic} partition 0 offset ${EVENTS}: ce_specversion: is missing`);
    });
  });

  it('stops when its handler throws, and calls it no more', async () => {
    let calls = 0;
    await writer.write(planMessage('acct_0', 0), planMessage('acct_1', 0));
    const feed = open('beginning', () => {
      calls++;
      throw new Error('the disk is full');
    });
    await eventually('it stops', () => feed.stopped !== null);
    expect(feed.stopped?.message).toBe('the disk is full');
    await writer.write(planMessage('acct_2', 0));
    await feed.close();
    expect(calls).toBe(1);
    expect(feed.told).toEqual([]);
  });

  it('shows the topic before anything of it is handed over, and now and then while it is read; what that throws stops it', async () => {
    await writer.write(planMessage('acct_0', 0));
    const looks: string[] = [];
    const feed = open('beginning', undefined, async ({ partitions, tail }) => {
      looks.push(`${partitions.size} ${tail.events.map(({ stream }) => stream).join()}`);
      if (looks.length === 1) expect(feed.seen).toEqual([]);
      if (looks.length === 3) throw new Error('somebody has changed it');
    });
    await eventually('it stops', () => feed.stopped !== null);
    expect(feed.stopped?.message).toBe('somebody has changed it');
    expect(looks).toEqual(Array.from({ length: 3 }, () => '4 account-acct_0'));
  });

  describe('on a way to its broker', () => {
    let path: BrokerPath;
    beforeEach(async () => {
      path = await startBrokerPath(broker?.brokers[0] ?? '');
      brokers = path.brokers;
    });
    afterEach(() => path.close());

    it('waits for a coordinator of groups that a new cluster does not have yet, and takes that for no loss', async () => {
      let asked = 0;
      path.coordinatorFault = () => (++asked <= 12 ? COORDINATOR_NOT_AVAILABLE : 0);
      await writer.write(planMessage('acct_0', 0));
      const feed = open('beginning');
      await eventually('it catches up', () => feed.told.length > 0);
      expect(feed.told).toEqual(['caught up at 1']);
      expect(asked).toBeGreaterThan(12);
    });

    it('gives up a coordinator of groups that does not answer, and asks for it anew', async () => {
      path.swallowed.add(JOIN_GROUP);
      await writer.write(planMessage('acct_0', 0));
      const feed = open('beginning');
      await eventually('it is dropped', () => feed.reasons.length > 0);
      expect(feed.reasons[0]).toMatch(/has not answered/);
      path.swallowed.clear();
      await eventually('it catches up', () => feed.told.length > 1);
      expect(feed.told).toEqual(['dropped', 'caught up at 1']);
    });

    it('says that it has no rights to its group', async () => {
      path.coordinatorFault = () => GROUP_AUTHORIZATION_FAILED;
      const feed = open('beginning');
      await eventually('it is dropped', () => feed.reasons.length > 0);
      expect(feed.reasons[0]).toMatch(/group authorization failed/i);
    });

    it('says when Kafka is lost from sight, goes on where it was when Kafka is back, and tells when it has caught up again', async () => {
      await writer.write(planMessage('acct_0', 0));
      const feed = open('beginning');
      await eventually('it catches up', () => feed.told.length === 1);
      path.fallSilent();
      await eventually('it is dropped', () => feed.told.length === 2);
      path.goOn();
      await writer.write(planMessage('acct_0', 1));
      await eventually('it catches up again', () => feed.told.length === 3);
      expect(feed.told).toEqual(['caught up at 1', 'dropped', 'caught up at 2']);
      expect(feed.seen).toEqual(['0/0', '0/1']);
    });
  });

  it.each(WAYS_TO_BE_LOST)('is read where the first of its brokers is %s', async (how) => {
    const lost = await lostBroker(how);
    brokers = [lost.address, ...brokers];
    await writer.write(planMessage('acct_0', 0));
    const feed = open('beginning');
    await eventually('it catches up', () => feed.told.length > 0);
    expect(feed.told).toEqual(['caught up at 1']);
    lost.close();
  });

  it('waits for a topic that is not there yet', async () => {
    topic = newTopicName('late');
    const feed = open('beginning');
    await eventually('it is dropped', () => feed.told.includes('dropped'));
    await broker?.createTopic(topic);
    await eventually('it catches up', () => feed.told.length === 2);
    expect(feed.told).toEqual(['dropped', 'caught up at 0']);
  });
});

import { describe, expect, test } from 'vitest';
import { beginningLost, doubtsOf, type JudgedTopic, refusalOf } from '../../../ledger/feed/topic-faults.ts';
import { replicationFor } from '../../../ledger/relay/topic.ts';

const SAFE = { cleanupPolicy: 'delete', retentionMs: -1, retentionBytes: -1, minInsyncReplicas: 2 };
const topic = (settings: Partial<typeof SAFE> = {}, other: Partial<JudgedTopic> = {}): JudgedTopic => ({
  partitions: new Map([[0, { low: 0n, high: 9n }]]),
  replicas: 3,
  settings: { ...SAFE, ...settings },
  ...other,
});

describe('a topic', () => {
  test('that keeps what it is given is in no doubt, nor is one of which nothing is known', () => {
    expect(doubtsOf(topic())).toEqual([]);
    expect(doubtsOf(topic({}, { settings: null, replicas: null }))).toEqual([]);
    expect(refusalOf('ledger', topic(), 'refuse')).toBeNull();
  });

  test.each(['compact', 'compact,delete'])(
    'that is compacted is refused, whatever the configuration says: %s',
    (policy) => {
      expect(refusalOf('ledger', topic({ cleanupPolicy: policy }), 'warn')).toMatch(
        `the topic ledger is compacted (cleanup.policy=${policy})`,
      );
    },
  );

  test.each([
    ['retention.ms is 604800000', topic({ retentionMs: 604_800_000 })],
    ['retention.ms is 0', topic({ retentionMs: 0 })],
    ['retention.bytes is 1000', topic({ retentionBytes: 1_000 })],
    ['it has one replica', topic({}, { replicas: 1 })],
    ['min.insync.replicas is 1', topic({ minInsyncReplicas: 1 })],
    ['partition 4 begins at offset 17', topic({}, { partitions: new Map([[4, { low: 17n, high: 17n }]]) })],
  ])('that can lose messages is told of, and refused where the configuration says so: %s', (doubt, look) => {
    expect(doubtsOf(look)).toEqual([expect.stringContaining(doubt)]);
    expect(refusalOf('ledger', look, 'warn')).toBeNull();
    expect(refusalOf('ledger', look, 'refuse')).toMatch(
      `the topic ledger can lose messages (kafka.doubtfulTopic): ${doubt}`,
    );
  });

  test('lacks its beginning for who needs what stood before its first message', () => {
    const partitions = new Map([
      [0, { low: 0n, high: 9n }],
      [1, { low: 5n, high: 9n }],
    ]);
    expect(beginningLost(partitions, () => 0n)).toBe(
      'partition 1 begins at offset 5, what stood before it was deleted',
    );
    expect(beginningLost(partitions, () => 5n)).toBeNull();
  });
});

describe('a topic that the relay makes', () => {
  test.each([
    [1, 1, 1],
    [2, 2, 2],
    [3, 3, 2],
    [7, 3, 2],
  ])('has, on %i brokers, %i replicas of which %i have to have a message', (brokers, replicas, insync) => {
    expect(replicationFor({}, brokers)).toEqual({ replicationFactor: replicas, minInsyncReplicas: insync });
  });

  test('has what the configuration names', () => {
    expect(replicationFor({ replicationFactor: 5, minInsyncReplicas: 4 }, 9)).toEqual({
      ...{ replicationFactor: 5, minInsyncReplicas: 4 },
    });
    expect(replicationFor({ replicationFactor: 1 }, 9)).toEqual({ replicationFactor: 1, minInsyncReplicas: 1 });
    expect(replicationFor({ replicationFactor: -1 }, 9)).toEqual({ replicationFactor: -1, minInsyncReplicas: null });
  });
});

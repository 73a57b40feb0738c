import { describe, expect, test } from 'vitest';
import { beginningLost, doubtsOf, type JudgedTopic, refusalOf } from '../../../ledger/feed/topic-faults.ts';
import { assertReadable } from '../../../ledger/feed/topic-settings.ts';
import { replicationFor } from '../../../ledger/relay/topic.ts';

const SAFE = {
  cleanupPolicy: 'delete',
  retentionMs: -1,
  retentionBytes: -1,
  minInsyncReplicas: 2 as number | null,
  compressionType: 'producer',
};
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

  test.each(['lz4', 'snappy'])('whose brokers compress with what no reader reads is refused: %s', (compressionType) => {
    const told = `the topic ledger has compression.type=${compressionType}`;
    expect(() => assertReadable('ledger', { ...SAFE, compressionType })).toThrow(told);
  });

  test.each(['producer', 'uncompressed', 'gzip', 'zstd', null])('that is read is not: %s', (compressionType) => {
    expect(() => assertReadable('ledger', { ...SAFE, compressionType })).not.toThrow();
  });

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
    [2, 2, 1],
    [3, 3, 2],
    [7, 3, 2],
  ])('has, on %i brokers, %i replicas of which %i have to have a message', (brokers, replicas, insync) => {
    const made = replicationFor({ doubtfulTopic: 'warn' }, brokers);
    expect(made).toEqual({ replicationFactor: replicas, minInsyncReplicas: insync });
  });

  test('has what the configuration names', () => {
    const named = (replicationFactor: number, minInsyncReplicas?: number) =>
      replicationFor({ replicationFactor, minInsyncReplicas, doubtfulTopic: 'warn' }, 9);
    expect(named(5, 4)).toEqual({ replicationFactor: 5, minInsyncReplicas: 4 });
    expect(named(2, 2)).toEqual({ replicationFactor: 2, minInsyncReplicas: 2 });
    expect(named(2)).toEqual({ replicationFactor: 2, minInsyncReplicas: 1 });
    expect(named(1)).toEqual({ replicationFactor: 1, minInsyncReplicas: 1 });
    expect(named(-1)).toEqual({ replicationFactor: -1, minInsyncReplicas: null });
  });

  test('is in doubt on two brokers, and is made so that it is not where that is refused', () => {
    const { minInsyncReplicas, replicationFactor } = replicationFor({ doubtfulTopic: 'warn' }, 2);
    expect(doubtsOf(topic({ minInsyncReplicas }, { replicas: replicationFactor }))).toEqual([
      'min.insync.replicas is 1: what one broker alone has acknowledged is gone with it',
    ]);
    const safe = replicationFor({ doubtfulTopic: 'refuse' }, 2);
    expect(safe).toEqual({ replicationFactor: 2, minInsyncReplicas: 2 });
    expect(doubtsOf(topic({ minInsyncReplicas: safe.minInsyncReplicas }, { replicas: 2 }))).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import { type FeedEvent, readFeedMessage } from '../../../contracts/feed-message.ts';
import { assertPartitionCount } from '../../../ledger/relay/partition-count.ts';
import { planMessage } from '../../kafka/topic-writer.ts';

/** Where Java's clients put the keys of four accounts, among four partitions and among nine. */
const AMONG_4 = { acct_1: 3, acct_2: 0, acct_3: 0, acct_4: 1 };
const AMONG_9 = { acct_1: 7, acct_2: 1, acct_3: 2, acct_4: 4 };

const event = (account: string): FeedEvent => readFeedMessage(planMessage(account, 0));
const refusal = (partitions: number, configured: number, placed: Readonly<Record<string, number>>): string | null => {
  const events = Object.entries(placed).map(([account, partition]) => ({ ...event(account), partition }));
  const high = events.length === 0 ? 0n : 9n;
  const look = {
    partitions: new Map(Array.from({ length: partitions }, (_, at) => [at, { low: 0n, high }])),
    tail: { events, strangers: 0 },
  };
  try {
    assertPartitionCount('ledger', look, configured);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

describe('the number of a topic’s partitions', () => {
  test('is the configuration’s where the messages stand where they belong', () => {
    expect(refusal(4, 4, AMONG_4)).toBeNull();
    expect(refusal(9, 9, AMONG_9)).toBeNull();
    expect(refusal(9, 9, {})).toBeNull();
  });

  test('can be taken into the configuration as long as there is no message', () => {
    expect(refusal(9, 4, {})).toMatch(
      /the configuration says 4: kafka\.partitions must be 9, or kafka\.topic another name/,
    );
  });

  test('that was changed once there are messages asks for another topic, and never for another configuration', () => {
    const message = refusal(9, 4, AMONG_4);
    expect(message).toMatch(/^the topic ledger has 9 partitions, the configuration says 4, and it has messages/);
    expect(message).toMatch(/`gateway relay fill NEW` fills one, then name it in kafka\.topic/);
    expect(message).not.toMatch(/must be 9/);
  });

  test('that the configuration has followed is refused by the messages of before', () => {
    expect(refusal(9, 9, { ...AMONG_9, acct_1: AMONG_4.acct_1 })).toMatch(
      /^the topic ledger has account-acct_1 revision 0 in partition 3, where it does not belong among 9: partitions were added/,
    );
  });
});

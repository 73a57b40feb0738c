import { describe, expect, onTestFinished, test } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { accountId, accountStream, LEDGER_STREAM, relayStream } from '../../../contracts/ids.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { acceptLoss } from '../../../ledger/identity/accept-loss.ts';
import { LedgerLostError } from '../../../ledger/identity/ledger-lost.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { PublishError } from '../../../ledger/relay/publisher.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { eventually } from '../../kafka/eventually.ts';
import { withoutLedger } from '../../kafka/topic-writer.ts';
import { proposed } from './ledger-file.ts';
import { MemoryPublisher } from './memory-publisher.ts';
import { identifiedLog, relayInMemory } from './relay-in-memory.ts';

const TOPIC = 'ledger';
const ADA = accountStream(accountId('ada'));
const BOB = accountStream(accountId('bob'));

/** A ledger with an identity, and what two accounts have done. */
async function ledgerOf(events = 3): Promise<MemoryEventLog> {
  const log = await identifiedLog();
  log.write(ADA, proposed(events));
  log.write(BOB, proposed(events));
  return log;
}

/** What a backup that was taken after so many events holds. */
function putBack(log: MemoryEventLog, events: number): MemoryEventLog {
  const back = new MemoryEventLog();
  const kept = log.events.filter(({ stream }) => stream !== relayStream(TOPIC)).slice(0, events);
  for (const event of kept) back.write(event.stream, [event]);
  return back;
}

async function begun(log: MemoryEventLog): Promise<LedgerIdentity> {
  const identity = await acceptLoss(log, {
    state: await readLedgerState(log),
    known: null,
    lost: [],
    untold: 0,
    requests: [],
    reason: 'test',
    nowMs: Date.now(),
    recording: recordingBy('operator', Date.now()),
  });
  if (identity === null) throw new Error('others have written to the stream ledger');
  return identity;
}

/** A relay of a ledger to a topic, until it is stopped or stops. */
function relayOf(log: MemoryEventLog, publisher: MemoryPublisher, topicLookMs = 60_000, endsCaughtUp = false) {
  const { ended, stop } = relayInMemory(log, publisher, { topicLookMs, endsCaughtUp });
  const finish = (): Promise<Error | null> => {
    stop();
    return ended;
  };
  onTestFinished(async () => void (await finish()));
  return { ended, stop: finish };
}

/** Publishes all that the ledger has. */
async function filled(log: MemoryEventLog, publisher = new MemoryPublisher()): Promise<MemoryPublisher> {
  const relay = relayOf(log, publisher);
  const last = log.events.at(-1);
  await eventually('it publishes', () => publisher.messages.some(({ headers }) => headers.ce_id === last?.id));
  expect(await relay.stop()).toBeNull();
  return publisher;
}

/** What a relay is refused with; it has written nothing, to the topic or of claims to the log. */
async function refused(log: MemoryEventLog, publisher: MemoryPublisher): Promise<string> {
  const [messages, events] = [publisher.messages.length, log.events.length];
  const error = await relayOf(log, publisher).ended;
  expect(error).toBeInstanceOf(LedgerLostError);
  expect(publisher.messages.length).toBe(messages);
  expect(log.events.slice(events)).toEqual([]);
  return error?.message ?? '';
}

const ledgersIn = ({ messages }: MemoryPublisher): string[] => [
  ...new Set(messages.map(({ headers }) => headers.ce_ledger)),
];

describe('what a relay publishes', () => {
  test('says in every message which ledger it is of, and in which generation', async () => {
    const log = await ledgerOf();
    const { identity } = await readLedgerState(log);
    expect(ledgersIn(await filled(log))).toEqual([`${identity?.ledgerId}/1`]);
  });

  test('is of an identity that a ledger from before is given for it', async () => {
    const log = new MemoryEventLog();
    log.write(ADA, proposed(2));
    const topic = new MemoryPublisher();
    relayOf(log, topic);
    await eventually('the identity is published, too', () => topic.messages.length === 3);
    const { identity } = await readLedgerState(log);
    expect(ledgersIn(topic)).toEqual([`${identity?.ledgerId}/1`]);
  });
});

describe('a relay writes nothing to a topic', () => {
  test('of another ledger', async () => {
    const topic = await filled(await ledgerOf());
    const other = await ledgerOf();
    const message = await refused(other, topic);
    const [one] = ledgersIn(topic);
    const { identity } = await readLedgerState(other);
    expect(message).toBe(
      `the topic ledger has messages of the ledger ${one?.split('/')[0]}, and the ledger (ledger.db) is ` +
        `${identity?.ledgerId}: kafka.topic must name a topic of this ledger, or a new one`,
    );
  });

  test.each([4, 6])('that knows more than its ledger, which was put back to its first %i events', async (events) => {
    const log = await ledgerOf();
    const topic = await filled(log);
    const message = await refused(putBack(log, events), topic);
    expect(message).toMatch(/^the ledger \(ledger\.db\) lacks events that it had; nothing is served from it:\n/);
    expect(message).toMatch(/account-bob: the topic ledger knows revision 2, (the ledger ends|nothing of it is)/);
    expect(message).toMatch(/Then name a new topic in kafka\.topic/);
  });

  test('that knows more, though what was sent last had come again', async () => {
    const log = await ledgerOf();
    const topic = await filled(log);
    topic.messages.push(...topic.messages.slice(1, 3));
    expect(await refused(putBack(log, 5), topic)).toMatch(/account-bob: the topic ledger knows revision 2/);
  });

  test('that knows other events than its ledger, which was put back and went on', async () => {
    const log = await ledgerOf();
    const topic = await filled(log);
    const back = putBack(log, 5);
    back.write(BOB, proposed(4));
    expect(await refused(back, topic)).toMatch(/account-bob: revision 2 is not the event that the topic ledger knows/);
  });

  test('whose messages from before they named their ledger are another one’s', async () => {
    const before = new MemoryPublisher((await filled(await ledgerOf())).messages.map(withoutLedger));
    expect(await refused(await ledgerOf(), before)).toMatch(/is not the event that the topic ledger knows/);
  });

  test('of an earlier generation of its ledger', async () => {
    const log = await ledgerOf();
    const topic = await filled(log);
    await begun(log);
    expect(await refused(log, topic)).toBe(
      'the topic ledger has messages of a generation before the ledger’s (ledger.db), which is at 2 since a loss was ' +
        'accepted, and may have what is lost: name a new topic in kafka.topic, a new generation of the ledger asks for one (the relay fills it)',
    );
  });

  test('of a later generation of its ledger', async () => {
    const log = await ledgerOf();
    const back = putBack(log, 7);
    await begun(log);
    expect(await refused(back, await filled(log))).toMatch(
      /ledger: the topic ledger knows revision 1, the ledger ends/,
    );
  });

  test('of another application', async () => {
    const topic = new MemoryPublisher();
    topic.strangers = 3;
    expect(await refused(await ledgerOf(), topic)).toMatch(
      /none of its last is of the feed: it is another application’s/,
    );
  });
});

describe('a relay goes on', () => {
  test('behind messages from before they named their ledger, where stream, revision and id are its own', async () => {
    const log = await ledgerOf();
    const { identity } = await readLedgerState(log);
    const topic = new MemoryPublisher((await filled(log)).messages.map(withoutLedger));
    log.write(ADA, proposed(1));
    await filled(log, topic);
    expect(topic.messages.map(({ headers }) => headers.ce_ledger)).toEqual([
      ...Array.from({ length: 7 }, () => undefined),
      `${identity?.ledgerId}/1`,
    ]);
  });

  test('with a new topic in a new generation, which stands in each message, of earlier events, too', async () => {
    const log = await ledgerOf();
    const { ledgerId } = await begun(log);
    const topic = await filled(log);
    expect(topic.messages.length).toBe(8);
    expect(ledgersIn(topic)).toEqual([`${ledgerId}/2`]);
  });

  test('until a loss is accepted, which is the last that it publishes', async () => {
    const log = await ledgerOf();
    const topic = new MemoryPublisher();
    const relay = relayOf(log, topic);
    await eventually('it publishes', () => topic.messages.length === 7);
    await begun(log);
    log.write(ADA, proposed(1));
    const error = await relay.ended;
    expect(error?.message).toMatch(
      /^a loss of the ledger was accepted: its generation 2 has begun, and the topic is of/,
    );
    const last = topic.messages.at(-1)?.headers;
    expect([last?.ce_stream, last?.ce_type]).toEqual([LEDGER_STREAM, 'LossAccepted']);
  });
});

describe('a relay of a ledger that is moved to another log', () => {
  const move = async (log: MemoryEventLog): Promise<void> => {
    const { identity, revision } = await readLedgerState(log);
    if (identity === null) throw new Error('the ledger has no identity');
    const event = { type: 'LedgerMoved', data: { ...exampleOf('LedgerMoved').data, ...identity } } as const;
    await log.append(LEDGER_STREAM, revision, encodeEvents([event], recordingBy('operator', Date.now())));
  };
  const arrive = async (log: MemoryEventLog): Promise<void> => {
    const { identity, revision } = await readLedgerState(log);
    if (identity === null) throw new Error('the ledger has no identity');
    const recording = recordingBy('operator', Date.now());
    const data = { ...identity, identifiedAt: recording.recordedAt };
    await log.append(LEDGER_STREAM, revision, encodeEvents([{ type: 'LedgerIdentified', data }], recording));
  };

  test('ends behind the event of the move, and says where the ledger is', async () => {
    const log = await ledgerOf();
    const topic = new MemoryPublisher();
    const relay = relayOf(log, topic);
    await eventually('it publishes', () => topic.messages.length === 7);
    await move(log);
    expect((await relay.ended)?.message).toMatch(/^the ledger \(ledger\.db\) has moved to EventStoreDB/);
    expect(topic.messages.at(-1)?.headers).toMatchObject({ ce_type: 'LedgerMoved' });
  });

  test('goes past it where the ledger has arrived', async () => {
    const log = await ledgerOf();
    await move(log);
    await arrive(log);
    log.write(ADA, proposed(1));
    const topic = await filled(log);
    expect(topic.messages.length).toBe(10);
  });
});

test('a relay that fills a topic ends when all is there that the ledger had, and the next goes on behind it', async () => {
  const log = await ledgerOf(40);
  const topic = new MemoryPublisher();
  expect(await relayOf(log, topic, 60_000, true).ended).toBeNull();
  expect(topic.messages.length).toBe(81);
  log.write(ADA, proposed(1));
  await filled(log, topic);
  expect(topic.messages.length).toBe(82);
});

describe('a relay that runs looks at its topic now and then', () => {
  const LOOK_MS = 20;

  test('and ends where another ledger’s relay writes to it', async () => {
    const [log, other] = [await ledgerOf(), await filled(await ledgerOf())];
    const topic = new MemoryPublisher();
    const relay = relayOf(log, topic, LOOK_MS);
    await eventually('it publishes', () => topic.messages.length === 7);
    topic.messages.push(...other.messages);
    expect((await relay.ended)?.message).toMatch(/^the topic ledger has messages of the ledger/);
  });

  test('and ends where its ledger was put back to an earlier state', async () => {
    const log = await ledgerOf();
    const topic = new MemoryPublisher();
    const relay = relayOf(log, topic, LOOK_MS);
    await eventually('it publishes', () => topic.messages.length === 7);
    log.lose(2);
    expect((await relay.ended)?.message).toMatch(/account-bob: the topic ledger knows revision 2/);
  });

  test('and ends where it is refused, not where it does not answer', async () => {
    const log = await ledgerOf();
    const mine = new MemoryPublisher();
    const relay = relayOf(log, mine, LOOK_MS);
    await eventually('it publishes', () => mine.messages.length === 7);
    mine.fault = new PublishError('away', 'no broker answers');
    const looks = mine.looks;
    await eventually('it looks on', () => mine.looks > looks + 2);
    mine.fault = new PublishError('mismatch', 'the topic ledger is compacted');
    expect((await relay.ended)?.message).toBe('the topic ledger is compacted');
  });
});

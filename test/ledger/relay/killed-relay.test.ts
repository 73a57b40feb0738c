import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { FeedEvent } from '../../../contracts/feed-message.ts';
import { LEDGER_STREAM, type Revision, relayStream, type StreamName } from '../../../contracts/ids.ts';
import { type ConsumedBatch, consumeFeed } from '../../../ledger/feed/consume-feed.ts';
import { SeededRandom } from '../../fixtures/seeded-random.ts';
import { eventually } from '../../kafka/eventually.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { firstRevisions, readTopic } from '../../kafka/read-topic.ts';
import { type Broker, startBroker } from '../../kafka/start-broker.ts';
import { LedgerFile } from './ledger-file.ts';
import { RelayProcess } from './relay-process.ts';

const KILLS = 6;
const ACCOUNTS = 12;
const SEED = Number(process.env.RELAY_KILL_SEED ?? 7);
const TEST_MS = 300_000;

const broker: Broker | null = await startBroker();

/** Appends to accounts that are drawn, a few events at a time, until it is stopped. */
class Writer {
  readonly #ended: Promise<void>;
  #isStopped = false;

  constructor(ledger: LedgerFile, random: SeededRandom) {
    this.#ended = this.#run(ledger, random);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#ended;
  }

  async #run(ledger: LedgerFile, random: SeededRandom): Promise<void> {
    while (!this.#isStopped) {
      await ledger.append(`acct_${random.whole(0, ACCOUNTS - 1)}`, random.whole(1, 4));
      await delay(random.next() * 20);
    }
  }
}

/** A consumer that keeps how far it has come with what it has seen, as a database would in one transaction. */
class Consumer {
  readonly seen: FeedEvent[] = [];
  failure: Error | null = null;
  readonly #offsets = new Map<number, bigint>();
  readonly #revisions = new Map<StreamName, Revision>();

  open(brokers: readonly string[], topic: string) {
    return consumeFeed({
      kafka: { brokers: [...brokers], topic, ssl: false, sasl: null },
      clientId: 'consumer',
      groupId: `consumer-${topic}`,
      // The mock broker keeps a group that was left waiting for as long as a session.
      sessionMs: 6_000,
      positions: {
        nextOffset: (partition) => this.#offsets.get(partition) ?? null,
        lastRevision: (stream) => this.#revisions.get(stream) ?? null,
      },
      onEvents: (batch) => this.#take(batch),
      onStopped: (error) => {
        this.failure = error;
      },
    });
  }

  #take({ partition, events, nextOffset, revisions }: ConsumedBatch): void {
    this.seen.push(...events);
    this.#offsets.set(partition, nextOffset);
    for (const [stream, revision] of revisions) this.#revisions.set(stream, revision);
  }
}

describe.skipIf(broker === null)('a relay that is killed at random instants', () => {
  afterAll(() => broker?.stop());

  it(
    `leaves every event on the topic, in order per account, and a consumer sees each exactly once (RELAY_KILL_SEED=${SEED})`,
    async () => {
      if (broker === null) return;
      const random = new SeededRandom(SEED);
      const ledger = await LedgerFile.open();
      // One that is killed is followed by the next when its claim is over.
      const site = { folder: ledger.folder, brokers: broker.brokers, topic: newTopicName('killed'), claimSeconds: 1 };
      await broker.createTopic(site.topic);
      const writer = new Writer(ledger, random);
      const consumer = new Consumer();
      let reading = consumer.open(site.brokers, site.topic);
      for (let kill = 0; kill < KILLS; kill++) {
        const relay = new RelayProcess(site);
        await relay.says('the active relay');
        await delay(random.next() * 900);
        await relay.kill();
        if (kill === KILLS / 2) {
          await reading.close();
          reading = consumer.open(site.brokers, site.topic);
        }
      }
      const last = new RelayProcess(site);
      await last.says('the active relay');
      await writer.stop();
      const published = [...ledger.accounts.values()].reduce<number>((sum, revision) => sum + revision + 1, 1);
      await eventually(
        `the consumer sees ${published} events`,
        () => consumer.failure !== null || consumer.seen.length >= published,
      );
      expect(consumer.failure).toBeNull();
      expect(await last.stop()).toBe(0);
      await reading.close();

      const topic = readTopic(site.brokers, site.topic);
      await topic.until('every event', (events) => [...firstRevisions(events).values()].flat().length >= published);
      await topic.close();
      const log = await Array.fromAsync(ledger.log.readAll());
      const feed = log.filter(({ stream }) => stream !== relayStream(site.topic));
      const whole = new Map(
        [...ledger.accounts].map(([account, revision]) => [
          `account-${account}`,
          Array.from({ length: revision + 1 }, (_, index) => index),
        ]),
      ).set(LEDGER_STREAM, [0]);
      expect(feed.length).toBe(published);
      expect(firstRevisions(topic.events)).toEqual(whole);
      const seen = consumer.seen.map(({ relayEpoch: _, ledger: __, ...event }) => event);
      expect(seen.sort((one, other) => one.position - other.position)).toEqual(feed);
      process.stdout.write(
        `relay killed ${KILLS} times (seed ${SEED}): ${published} events, ${topic.events.length} messages, ` +
          `${topic.events.length - published} duplicates\n`,
      );
    },
    TEST_MS,
  );
});

import { newTopicName } from '../kafka/new-topic-name.ts';
import type { RealBrokers } from '../kafka/real-brokers.ts';
import { type Broker, TOPIC_PARTITIONS } from '../kafka/start-broker.ts';
import { TopicRecord } from '../soak/topic-record.ts';
import type { OutageKafka } from './outage-site.ts';

/** Kafka in an outage: its broker stands still, then it is dead, and then it is back; where it is others', it stays. */
export class OutageFeed {
  readonly kafka: OutageKafka;
  readonly topic: TopicRecord;
  readonly #cluster: RealBrokers | null;

  private constructor(kafka: OutageKafka, topic: TopicRecord, cluster: RealBrokers | null) {
    this.kafka = kafka;
    this.topic = topic;
    this.#cluster = cluster;
  }

  /** With a topic of the run's own, which is read from now on. */
  static async start(broker: Broker): Promise<OutageFeed> {
    const topic = newTopicName('outage');
    await broker.createTopic(topic);
    const kafka = { brokers: broker.brokers, topic, partitions: TOPIC_PARTITIONS };
    return new OutageFeed(kafka, TopicRecord.start(broker.brokers, topic), broker.cluster);
  }

  async pause(): Promise<void> {
    await this.#cluster?.signal(0, 'SIGSTOP');
  }

  async kill(): Promise<void> {
    await this.#cluster?.signal(0, 'SIGKILL');
  }

  async startAgain(): Promise<void> {
    await this.#cluster?.startAgain(0);
  }

  async close(): Promise<void> {
    await this.topic.close();
  }
}

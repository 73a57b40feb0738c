import { Counter, Gauge, type Registry } from 'prom-client';
import type { Position } from '../../contracts/ids.ts';

/** What a relay tells of itself; set by the relay, read at GET /metrics. */
export class RelayMetrics {
  /** When the oldest event that is not published yet was written down; null when all is published. */
  oldestUnpublishedMs: number | null = null;
  readonly #head: Gauge;
  readonly #acknowledged: Gauge;
  readonly #active: Gauge;
  readonly #kafkaUp: Gauge;
  readonly #published: Counter;
  readonly #unread: Counter;

  constructor(registry: Registry, clock: () => number) {
    const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] });
    this.#head = gauge('gateway_relay_head_position', 'Position of the last event in the log');
    this.#acknowledged = gauge(
      'gateway_relay_acknowledged_position',
      'Everything up to this position of the log is in Kafka, or is not for the feed',
    );
    this.#active = gauge('gateway_relay_active', '1 where this relay publishes, 0 where it stands by');
    this.#kafkaUp = gauge('gateway_relay_kafka_up', '1 where Kafka answered last, 0 where it did not');
    this.#published = new Counter({
      name: 'gateway_relay_published_total',
      help: 'Messages that Kafka has acknowledged',
      registers: [registry],
    });
    this.#unread = new Counter({
      name: 'gateway_relay_unread_total',
      help: 'Events of accounts that this relay could not read, and has published as they are',
      registers: [registry],
    });
    const lagSeconds = (): number => this.#lagSeconds(clock());
    new Gauge({
      name: 'gateway_relay_lag_seconds',
      help: 'Age of the oldest event that is not in Kafka yet; 0 where all are',
      registers: [registry],
      collect() {
        this.set(lagSeconds());
      },
    });
  }

  set head(value: Position | null) {
    this.#head.set(value ?? 0);
  }

  set acknowledged(value: Position | null) {
    this.#acknowledged.set(value ?? 0);
  }

  set isActive(value: boolean) {
    this.#active.set(value ? 1 : 0);
  }

  set isKafkaUp(value: boolean) {
    this.#kafkaUp.set(value ? 1 : 0);
  }

  publishedUnread(): void {
    this.#unread.inc();
  }

  published(messages: number): void {
    this.#published.inc(messages);
  }

  #lagSeconds(nowMs: number): number {
    return this.oldestUnpublishedMs === null ? 0 : Math.max(0, nowMs - this.oldestUnpublishedMs) / 1_000;
  }
}

import { expect, test } from 'vitest';
import { LIMITS } from '../../../contracts/limits.ts';
import { viewSourceOf } from '../../../projections/sources/view-source-of.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { LEDGER } from '../example-log.ts';

const KAFKA = {
  brokers: ['127.0.0.1:1'],
  topic: 'usage',
  partitions: 4,
  replicationFactor: 1,
  doubtfulTopic: 'warn',
  compression: 'none',
  ssl: false,
  sasl: null,
} as const;
const of = (source: 'log' | 'kafka', kafka: typeof KAFKA | null) =>
  viewSourceOf(
    {
      projections: { source, maxAgeMs: LIMITS.viewsAgeMs },
      kafka: kafka === null ? null : { ...kafka, brokers: [...kafka.brokers] },
      eventLog: { kind: 'sqlite' },
      data: '/data',
    },
    { log: new MemoryEventLog(), clientId: 'test', ledger: Promise.resolve(LEDGER) },
  );

test('the views are fed from where the configuration says, and a checkpoint of one feed is none of another', async () => {
  expect((await of('log', KAFKA)).name).toBe('log');
  expect((await of('kafka', KAFKA)).name).toBe('kafka usage');
});

test('views cannot be fed from a Kafka that is not configured', async () => {
  await expect(of('kafka', null)).rejects.toThrow(/no section kafka/);
});

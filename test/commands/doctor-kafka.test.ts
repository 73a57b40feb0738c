import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { newTopicName } from '../kafka/new-topic-name.ts';
import { startBroker, TOPIC_PARTITIONS } from '../kafka/start-broker.ts';

const broker = await startBroker();
afterAll(() => broker?.stop());

it.skipIf(broker === null)(
  'a topic that is not there yet is told with who makes it; one that is, by what it may lose',
  async () => {
    const [folder, topic] = [temporaryFolder(), newTopicName('doctor')];
    const config = join(folder, 'gateway.json');
    const kafkaBy = async (doubtfulTopic: string) => {
      const kafka = { brokers: broker?.brokers, topic, doubtfulTopic };
      writeFileSync(config, JSON.stringify({ data: join(folder, 'data'), listen: { port: 0 }, kafka }));
      const { stdout } = await runHere('--config', config, '--json', 'doctor');
      const findings: { readonly check: string }[] = JSON.parse(stdout);
      return findings.find(({ check }) => check === 'kafka');
    };
    expect(await kafkaBy('warn')).toMatchObject({
      state: 'warn',
      says: expect.stringContaining('`gateway relay` makes it'),
    });
    await broker?.createTopic(topic);
    // One broker has one replica of it.
    const says = expect.stringMatching(
      new RegExp(`has ${TOPIC_PARTITIONS} partitions, and can lose messages: .*one replica`),
    );
    expect(await kafkaBy('warn')).toMatchObject({ state: 'warn', says });
    expect(await kafkaBy('refuse')).toMatchObject({
      state: 'fault',
      says: expect.stringContaining('kafka.doubtfulTopic'),
    });
  },
);

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, expect, it } from 'vitest';
import { accountStream } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { Gateway } from '../../proxy/program/serve/gateway.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { eventually } from '../kafka/eventually.ts';
import { newTopicName } from '../kafka/new-topic-name.ts';
import { startBroker, TOPIC_PARTITIONS } from '../kafka/start-broker.ts';
import { proposed } from '../ledger/relay/ledger-file.ts';
import { RelayProcess } from '../ledger/relay/relay-process.ts';

const broker = await startBroker();
afterAll(() => broker?.stop());

/** A ledger with an account, and the configuration of a gateway whose views come from a topic that has nothing of it yet. */
async function site(brokers: readonly string[], topic: string) {
  const { data, accountId, gateway, stop } = await startTestGateway();
  const { revision } = gateway.process.projections.accounts.read(accountId);
  await stop();
  const file = join(data, 'gateway.json');
  const kafka = { brokers, topic, partitions: TOPIC_PARTITIONS };
  const settings = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...settings, kafka, projections: { source: 'kafka' } }));
  const configuration = readConfiguration({ file, environment: {}, callsProviders: true });
  return { folder: data, stream: accountStream(accountId), revision, configuration };
}

it.skipIf(broker === null)(
  'says that its views wait for the relay, at its start and later, and when they do no more',
  async () => {
    const topic = newTopicName('waiting');
    const brokers = broker?.brokers ?? [];
    const { folder, stream, revision, configuration } = await site(brokers, topic);
    const log = endedLater(await openSqliteEventLog({ path: join(folder, 'ledger.db') }));
    const lines: string[] = [];
    const logger = pino({}, { write: (line: string) => lines.push(line) });
    const gateway = endedLater(
      await Gateway.start({ configuration, log, logger, clock: Date.now, monotonic: Date.now }),
    );
    const readyz = async (): Promise<string> => JSON.stringify(await (await fetch(`${gateway.url}/readyz`)).json());
    const says = (text: string) => eventually(text, async () => (await readyz()).includes(text));
    const isOk = () => eventually('it is ready', async () => (await readyz()) === '{"ok":true}');
    const lastOf = (text: string): number => lines.findLastIndex((line) => line.includes(text));

    await says(
      'catching up with its ledger: there is no topic yet for the views to come from (`gateway relay` makes it)',
    );
    const reasons = lines.map((line) => JSON.parse(line).reason).filter((reason) => reason?.includes('no topic'));
    expect(reasons).toEqual([
      `there is no topic ${topic} yet, or none that this client may see: \`gateway relay\` makes it`,
    ]);
    expect(lines.join('')).not.toContain('"stack"');
    await broker?.createTopic(topic);
    await says('catching up with its ledger: the source of the views lacks events of it (its relay is away or behind)');
    const first = endedLater(new RelayProcess({ folder, brokers, topic }));
    await gateway.whenReady();
    await isOk();
    expect(lastOf('the source of the views is behind the ledger')).toBeGreaterThanOrEqual(0);
    expect(lastOf('the views follow the ledger')).toBeGreaterThan(
      lastOf('the source of the views is behind the ledger'),
    );

    await first.stop();
    await log.append(stream, revision, proposed(1));
    await says('"degraded":"the source of the views has been behind the ledger for');
    endedLater(new RelayProcess({ folder, brokers, topic }));
    const told = lastOf(`${stream} ${revision + 1} has not come`);
    expect(told).toBeGreaterThanOrEqual(0);
    expect(await readyz()).not.toContain(stream);
    await isOk();
    expect(lastOf('the views follow the ledger')).toBeGreaterThan(told);
  },
);

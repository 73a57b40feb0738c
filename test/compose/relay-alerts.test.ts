import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from '../kafka/eventually.ts';
import { newTopicName } from '../kafka/new-topic-name.ts';
import { startBroker } from '../kafka/start-broker.ts';
import { LedgerFile } from '../ledger/relay/ledger-file.ts';
import { RelayProcess } from '../ledger/relay/relay-process.ts';
import { AlertGroup } from './alert-group.ts';
import { hasPromtool } from './promtool.ts';
import { type Page, scrape } from './scrape.ts';

const broker = hasPromtool ? await startBroker() : null;
afterAll(() => broker?.stop());

const MINUTE_MS = 60_000;
const page = async (relay: RelayProcess): Promise<Page> => scrape(await relay.metricsUrl());

const group = new AlertGroup('relay');

/** Where it goes on as it did between the two pages. */
const expectFiring = (alerts: readonly string[], before: Page, after: Page): void =>
  group.expectFiring(alerts, [{ job: 'relay', before, after }]);

describe.skipIf(!hasPromtool)('alerts of compose.yaml about relays', () => {
  it('are silent over one that publishes, and tell where it is gone', async ({ skip }) => {
    skip(broker === null, 'no broker can be started here');
    const ledger = await LedgerFile.open();
    const topic = newTopicName('ledger');
    await broker?.createTopic(topic);
    const relay = new RelayProcess({ folder: ledger.folder, brokers: broker?.brokers ?? [], topic });
    await relay.published(1);
    const before = await page(relay);
    await ledger.append('acct_1', 3);
    await relay.published(4);
    expectFiring([], before, await page(relay));
    const url = await relay.metricsUrl();
    await relay.stop();
    expectFiring(['NoActiveRelay'], before, await scrape(url));
  });

  it('tell of a Kafka that no relay reaches, and of what waits for it', async () => {
    const ledger = await LedgerFile.open(Date.now() - 10 * MINUTE_MS);
    const relay = new RelayProcess({ folder: ledger.folder, brokers: ['127.0.0.1:1'], topic: newTopicName('ledger') });
    await eventually('it tells what waits', async () => (await relay.metric('gateway_relay_lag_seconds')) > 0);
    await relay.says('Kafka does not answer');
    const after = await page(relay);
    expectFiring(['RelayBehind', 'NoActiveRelay', 'KafkaAway'], after, after);
  });

  it('have all fired here', (context) => {
    expect(group.silentIn(context)).toEqual([]);
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { NO_STREAM, relayStream, revision } from '../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { runProgram } from '../../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { readTopic } from '../../kafka/read-topic.ts';
import { type Broker, startBroker, TOPIC_PARTITIONS } from '../../kafka/start-broker.ts';
import { LedgerFile } from './ledger-file.ts';
import { RelayProcess } from './relay-process.ts';

const broker: Broker | null = await startBroker();

/** What a backup of a ledger that was taken after so many of its events holds, in a folder that knows of nothing else. */
async function putBack(ledger: LedgerFile, topic: string, events: number): Promise<string> {
  const folder = temporaryFolder();
  const log = await openSqliteEventLog({ path: join(folder, 'ledger.db') });
  const all = await Array.fromAsync(ledger.log.readAll());
  for (const event of all.filter(({ stream }) => stream !== relayStream(topic)).slice(0, events))
    await log.append(event.stream, event.revision === 0 ? NO_STREAM : revision(event.revision - 1), [event]);
  await log.close();
  return folder;
}

describe.skipIf(broker === null)('a ledger that is behind its topic', () => {
  afterAll(() => broker?.stop());

  it('is refused by the relay and by a gateway whose views come from there, until the loss is accepted and the topic a new one', async () => {
    if (broker === null) return;
    const [topic, next] = [newTopicName('behind'), newTopicName('after')];
    await broker.createTopic(topic);
    await broker.createTopic(next);
    const ledger = await LedgerFile.open();
    await ledger.append('acct_1', 5);
    const relay = new RelayProcess({ folder: ledger.folder, brokers: broker.brokers, topic });
    await relay.published(6);
    await relay.stop();
    const folder = await putBack(ledger, topic, 4);
    const configOf = (name: string): string => {
      const kafka = { brokers: broker.brokers, topic: name, partitions: TOPIC_PARTITIONS };
      const file = join(folder, `${name}.json`);
      writeFileSync(
        file,
        JSON.stringify({ data: folder, kafka, projections: { source: 'kafka' }, listen: { port: 0 } }),
      );
      return file;
    };

    const refusal = new RegExp(
      `lacks events that it had; nothing is served from it:\\n +account-acct_1: the topic ${topic} knows revision 4, the ledger ends at revision 2`,
    );
    for (const program of ['relay', 'serve']) {
      const { exitCode, stderr } = await runProgram(program, '--config', configOf(topic));
      expect([program, exitCode]).toEqual([program, 3]);
      expect(stderr).toMatch(refusal);
    }
    const accepted = await runProgram('ledger', 'accept-loss', '--reason', 'test', '--config', configOf(topic));
    expect(accepted).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^generation 2 of ledger_\w+ has begun/),
    });
    const again = await runProgram('relay', '--config', configOf(topic));
    expect([again.exitCode, again.stderr]).toEqual([3, expect.stringContaining('name a new topic in kafka.topic')]);

    const anew = new RelayProcess({ folder, brokers: broker.brokers, topic: next });
    const read = readTopic(broker.brokers, next);
    await read.until('all that is left, and the loss', (events) => events.length >= 5);
    await read.close();
    expect(await anew.stop()).toBe(0);
    expect(new Set(read.events.map(({ ledger: of }) => of?.generation))).toEqual(new Set([2]));
  });
});

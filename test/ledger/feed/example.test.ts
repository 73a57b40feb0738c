import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { type FeedMessage, feedMessage } from '../../../contracts/feed-message.ts';
import { accountId, accountStream, commandOfRequest, position, requestId, revision } from '../../../contracts/ids.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { eventually } from '../../kafka/eventually.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { type Broker, startBroker } from '../../kafka/start-broker.ts';
import { TopicWriter, WRITTEN_OF } from '../../kafka/topic-writer.ts';

const EXAMPLE = fileURLToPath(new URL('../../../ledger/feed/example.ts', import.meta.url));
const broker: Broker | null = await startBroker();

/** The example of a debit, on some account's stream. */
function debitMessage(account: string, at: number): FeedMessage {
  const id = requestId(`req_01890a5dac96774bbcce${at.toString(16).padStart(12, '0')}`);
  const recording = { commandId: commandOfRequest(id), actor: 'gateway', recordedAt: '2026-11-21T10:00:00.000Z' };
  const [event] = encodeEvents([exampleOf('CreditsDebited')], recording);
  if (event === undefined) throw new TypeError('no event');
  const stream = accountStream(accountId(account));
  const recorded = { ...event, stream, revision: revision(at), position: position(at) };
  return feedMessage(recorded, { source: '/test', relayEpoch: 1, ledger: WRITTEN_OF });
}

describe.skipIf(broker === null)('the example of a consumer', () => {
  afterAll(() => broker?.stop());

  it('counts each debit once, and leaves out an account of which one cannot be read', async () => {
    if (broker === null) return;
    const topic = newTopicName('example');
    await broker.createTopic(topic);
    const writer = new TopicWriter(broker.brokers, topic);
    const unread = { ...debitMessage('acct_3', 1), value: '{"x":1}' };
    const twice = [
      ...[debitMessage('acct_3', 0), unread, debitMessage('acct_3', 2)],
      ...[debitMessage('acct_1', 0), debitMessage('acct_1', 1), debitMessage('acct_2', 0)],
    ];
    await writer.write(...twice, ...twice);
    await writer.close();
    const file = join(temporaryFolder(), 'debits.db');
    const args = ['--brokers', broker.brokers.join(), '--topic', topic, '--group', topic, '--file', file];
    const child = spawn(process.execPath, [EXAMPLE, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [printed, said] = [text(child.stdout), text(child.stderr)];
    try {
      await eventually('all offsets are kept', () => offsetsIn(file) === 2 * twice.length);
    } finally {
      child.kill('SIGTERM');
    }
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(
      (await printed)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      expect.objectContaining({ account: 'acct_1', debits: 2 }),
      expect.objectContaining({ account: 'acct_2', debits: 1 }),
    ]);
    expect(await said).toMatch(/^acct_3 is left out from here on: [^\n]*account-acct_3 revision 1[^\n]*\n$/);
  });
});

/** The sum of the next offsets that the example has kept so far. */
function offsetsIn(file: string): number {
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    const row = database.prepare('SELECT sum(CAST(value AS INTEGER)) AS sum FROM offset_of_topic').get();
    database.close();
    return Number(row?.sum ?? 0);
  } catch {
    // Not there yet, or just being made.
    return 0;
  }
}

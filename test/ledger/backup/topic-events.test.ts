import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { FeedEvent } from '../../../contracts/feed-message.ts';
import { eventId, ledgerId, NO_STREAM, position, revision, type StreamName } from '../../../contracts/ids.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { TopicEvents } from '../../../ledger/backup/topic-events.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const ID = ledgerId('ledger_019a5b3c00007000800000000000000a');
const of = (generation: number): LedgerIdentity => ({ ledgerId: ID, generation });

const message = (ledger: LedgerIdentity | null): FeedEvent => ({
  ...{ stream: 'account-acct_a' as StreamName, revision: revision(0), position: position(7) },
  ...{
    id: eventId('019a5b3c-0000-7000-8000-000000000001'),
    type: 'CreditsDebited',
    data: '{}',
    metadata: '{}',
    relayEpoch: 1,
    ledger,
  },
});

/** What a topic with one message gives back to an empty ledger. */
async function givenBack(ledger: LedgerIdentity | null, to: LedgerIdentity | null): Promise<RecordedEvent[]> {
  const folder = temporaryFolder();
  const log = await openSqliteEventLog({ path: join(folder, 'ledger.db') });
  onTestFinished(() => log.close());
  const events = new TopicEvents(join(folder, 'topic.partial'), log, to);
  try {
    await events.take([message(ledger)]);
    return await Array.fromAsync(events.readAll());
  } finally {
    events.close();
  }
}

it.each([
  [
    'an earlier generation, which a loss has given up',
    of(1),
    'of generation 1 of the ledger, and this one is of generation 2',
  ],
  ['a later generation', of(3), 'of generation 3 of the ledger, and this one is of generation 2'],
  ['before messages said whose they are', null, 'of generation 1 of the ledger, and this one is of generation 2'],
])('nothing of %s is put back', async (_what, ledger, told) => {
  await expect(givenBack(ledger, of(2))).rejects.toThrow(told);
});

it('what is of the ledger in its generation is put back, and of a first one what does not say', async () => {
  expect(await givenBack(of(2), of(2))).toHaveLength(1);
  expect(await givenBack(null, of(1))).toHaveLength(1);
  expect(await givenBack(of(1), null)).toHaveLength(1);
});

it('a topic that went on otherwise than the ledger gives nothing back, and a message without its event is none', async () => {
  const folder = temporaryFolder();
  const log = await openSqliteEventLog({ path: join(folder, 'ledger.db') });
  onTestFinished(() => log.close());
  const first = message(null);
  const { stream, type, data, metadata, id } = first;
  await log.append(stream, NO_STREAM, [{ id, type, data, metadata }]);
  const events = new TopicEvents(join(folder, 'topic.partial'), log, null);
  onTestFinished(() => events.close());
  const second = { ...first, revision: revision(1), id: eventId('019a5b3c-0000-7000-8000-000000000002') };
  await events.take([first, { ...second, data: '' }]);
  expect(await Array.fromAsync(events.readAll())).toEqual([]);
  await expect(events.take([{ ...first, id: second.id }])).rejects.toThrow(`another event at ${stream} revision 0`);
});

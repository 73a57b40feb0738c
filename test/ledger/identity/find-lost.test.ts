import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EventLog, ProposedEvent } from '../../../contracts/event-log.ts';
import {
  accountId,
  accountStream,
  type EventId,
  eventId,
  NO_STREAM,
  revision,
  type StreamName,
  uuidV7,
} from '../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { findLost } from '../../../ledger/identity/find-lost.ts';
import type { LedgerKnowledge } from '../../../ledger/identity/known-ledger.ts';
import { describeLost, ledgerLost } from '../../../ledger/identity/ledger-lost.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const ADA = accountStream(accountId('ada'));
const BOB = accountStream(accountId('bob'));

let log: EventLog;
beforeEach(async () => {
  log = endedLater(await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') }));
});

const newEvent = (): ProposedEvent => ({
  id: eventId(uuidV7(Date.now(), randomBytes(10))),
  type: 'AccountSuspended',
  data: '{"reason":"test"}',
  metadata: '{}',
});

/** Appends one event and says which it is. */
async function append(stream: StreamName, at: number): Promise<EventId> {
  const event = newEvent();
  const result = await log.append(stream, at === 0 ? NO_STREAM : revision(at - 1), [event]);
  expect(result.type).toBe('appended');
  return event.id;
}

/** An id of an event that the ledger had before it was put back. */
const gone = (): EventId => newEvent().id;

const knows = (source: string, ...events: [StreamName, number, EventId | null][]): LedgerKnowledge => ({
  source,
  identity: null,
  events: events.map(([stream, at, id]) => ({ stream, revision: at, id })),
});

describe('a ledger that was put back and went on with other events', () => {
  it('is what was there up to the last event that is known to be the same, and no further than the first that is not', async () => {
    for (const at of [0, 1]) await append(ADA, at);
    const same = await append(ADA, 2);
    // Three revisions were lost, and others took their places.
    for (const at of [3, 4, 5, 6]) await append(ADA, at);
    const { lost, untold } = await findLost(log, [
      knows('views.db', [ADA, 2, same]),
      knows('ledger-id', [ADA, 5, gone()]),
    ]);
    expect(lost).toMatchObject([{ revision: 5, end: 6, sharedAtLeast: 2, sharedAtMost: 4, isReplaced: true }]);
    expect(untold).toBe(0);
    expect(lost.map(describeLost)).toEqual([
      `${ADA}: revision 5 is not the event that ledger-id knows; it is what was there up to revision 4 at the most, for certain up to revision 2`,
    ]);
  });

  it('has lost also what stands behind that in other streams, of which no more than a revision is known', async () => {
    await append(BOB, 0);
    const same = await append(ADA, 0);
    await append(BOB, 1);
    await append(ADA, 1);
    for (const at of [2, 3]) await append(BOB, at);
    const { lost } = await findLost(log, [
      knows('views.db', [ADA, 0, same], [BOB, 3, null]),
      knows('ledger-id', [ADA, 1, gone()]),
    ]);
    expect(lost).toMatchObject([
      { stream: ADA, revision: 1, end: 1, sharedAtLeast: 0, sharedAtMost: 0, isReplaced: true },
      { stream: BOB, revision: 3, end: 3, sharedAtLeast: 0, sharedAtMost: 1, isReplaced: true },
    ]);
    expect(lost.map(describeLost)[0]).toMatch(/; it is what was there up to revision 0$/);
  });

  it('says that it cannot be told where nothing is known by its id', async () => {
    for (const at of [0, 1, 2]) await append(ADA, at);
    await append(BOB, 0);
    const found = await findLost(log, [knows('the journal', [ADA, 9, null], [BOB, 0, null])]);
    expect(found).toMatchObject({ lost: [{ stream: ADA, end: 2, sharedAtLeast: -1, sharedAtMost: 2 }], untold: 1 });
    const { message } = ledgerLost('ledger.db', found);
    expect(message).toContain(
      'the journal knows revision 9, the ledger ends at revision 2; it is what was there up to revision 2 at the most, which revisions cannot be told\n',
    );
    expect(message).toContain('of 1 other streams it cannot be told whether they have lost events, too\n');
  });

  it('names a stream once, with the newest revision of it that is lost', async () => {
    await append(ADA, 0);
    const { lost } = await findLost(log, [
      knows('views.db', [ADA, 4, gone()]),
      knows('the journal', [ADA, 7, null]),
      knows('ledger-id', [ADA, 7, gone()]),
    ]);
    expect(lost).toMatchObject([{ revision: 7, knownBy: ['the journal', 'ledger-id'] }]);
  });

  it('finds the place in a long stream', async () => {
    const events = Array.from({ length: 500 }, newEvent);
    await log.append(ADA, NO_STREAM, events.slice(0, 321));
    const same = await append(BOB, 0);
    await append(BOB, 1);
    await log.append(ADA, revision(320), events.slice(321));
    const { lost } = await findLost(log, [
      knows('views.db', [BOB, 0, same], [ADA, 700, null]),
      knows('ledger-id', [BOB, 1, gone()]),
    ]);
    expect(lost[1]).toMatchObject({ stream: ADA, end: 499, sharedAtLeast: 320, sharedAtMost: 320, isReplaced: false });
  });
});

it('a ledger that has everything has lost nothing, whoever asks', async () => {
  const first = await append(ADA, 0);
  const last = await append(ADA, 1);
  const known = [knows('views.db', [ADA, 0, first], [BOB, 0, null]), knows('ledger-id', [ADA, 1, last])];
  await append(BOB, 0);
  expect(await findLost(log, known)).toEqual({ lost: [], untold: 0 });
});

it('counts the streams that were too many to compare', async () => {
  const found = await findLost(log, [{ ...knows('views.db', [ADA, 4, gone()]), notCompared: 1_200 }]);
  expect(found).toMatchObject({ lost: [{ stream: ADA, end: -1 }], untold: 1_200 });
});

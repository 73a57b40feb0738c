import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { EventLog, ProposedEvent, RecordedEvent } from '../../../contracts/event-log.ts';
import {
  accountId,
  accountStream,
  commandOfRequest,
  type RequestId,
  revision,
  uuidV7,
} from '../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { findRequests } from '../../../ledger/statement/find-request.ts';
import { usageOf } from '../../fixtures/ledger/example-account.ts';
import { requestIdFromUuid } from '../../fixtures/ledger/request-of-uuid.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const FROM_MS = Date.UTC(2026, 10, 5);
const MINUTE_MS = 60_000;
const [BLOCKS, OF_BLOCK] = [32, 32];
const COUNT = BLOCKS * OF_BLOCK;
/** The last before some that were written down by a clock that was a week behind. */
const BEFORE_WRONG_CLOCK = 700;
/** Written down by a clock that was some minutes behind its gateway's. */
const BEHIND_CLOCK = 300;
/** Of one provider, which has given its id a second time. */
const [GIVEN, GIVEN_AGAIN] = [40, 900];

/** The request that began in a minute. */
const requestAt = (minute: number): RequestId =>
  requestIdFromUuid(uuidV7(FROM_MS + minute * MINUTE_MS, new Uint8Array(10).fill(minute % 251)));
const providersId = (minute: number): string => `msg_"${minute === GIVEN_AGAIN ? GIVEN : minute}"`;
const [A, B] = [accountId('a'), accountId('b')];

function usageIn(minute: number): ProposedEvent[] {
  const requestId = requestAt(minute);
  const upstream = { provider: 'test', model: 'm', requestId: providersId(minute) };
  const isOfWrongClock = minute > BEFORE_WRONG_CLOCK && minute < BEFORE_WRONG_CLOCK + 20;
  const behindMs = minute === BEHIND_CLOCK ? 10 * MINUTE_MS : isOfWrongClock ? 7 * 24 * 60 * MINUTE_MS : -500;
  const recordedAt = new Date(FROM_MS + minute * MINUTE_MS - behindMs).toISOString();
  const data = { ...usageOf(minute, 1), requestId, upstream };
  return encodeEvents([{ type: 'UsageRecorded', data }], {
    commandId: commandOfRequest(requestId),
    actor: 'k',
    recordedAt,
  });
}

let log: EventLog;
/** How many events a search was given. */
let read = 0;
const counted = async function* (events: AsyncIterable<RecordedEvent>) {
  for await (const event of events) {
    read++;
    yield event;
  }
};
beforeAll(async () => {
  const opened = await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') });
  for (let block = 0; block < BLOCKS; block++) {
    const minutes = Array.from({ length: OF_BLOCK }, (_, at) => block * OF_BLOCK + at);
    const stream = accountStream(block % 2 === 0 ? A : B);
    await opened.append(stream, revision(Math.floor(block / 2) * OF_BLOCK - 1), minutes.flatMap(usageIn));
  }
  log = {
    ...({ headPosition: () => opened.headPosition() } as EventLog),
    readAll: (options) => counted(opened.readAll(options)),
    readStream: (stream, options) => counted(opened.readStream(stream, options)),
  };
  return () => opened.close();
});
beforeEach(() => {
  read = 0;
});

const search = { account: null, hasOrdinals: true };
const found = (minute: number) => [
  { accountId: Math.floor(minute / OF_BLOCK) % 2 === 0 ? A : B, requestId: requestAt(minute) },
];

it.each([0, 14, 16, BEHIND_CLOCK, 511, 512, 1_023])(
  'by the time in our own id, where positions are ordinals, some dozens of events are read of %i minutes in',
  async (minute) => {
    expect(await findRequests(log, requestAt(minute), search)).toEqual(found(minute));
    // Halving, and a quarter of an hour for clocks that differ.
    expect(read).toBeLessThan(30);
  },
);

it('what a clock that was behind hides is found all the same, in all that stands before', async () => {
  expect(await findRequests(log, requestAt(BEFORE_WRONG_CLOCK), search)).toEqual(found(BEFORE_WRONG_CLOCK));
  expect(read).toBeGreaterThan(BEFORE_WRONG_CLOCK);
});

it('where positions are no ordinals, the log is looked through from its beginning to the request', async () => {
  expect(await findRequests(log, requestAt(700), { ...search, hasOrdinals: false })).toEqual(found(700));
  expect(read).toBe(701);
});

it('one account’s events alone are read where it is said', async () => {
  const [{ accountId: account } = { accountId: A }] = found(700);
  expect(await findRequests(log, requestAt(700), { ...search, account })).toEqual(found(700));
  expect(read).toBeLessThanOrEqual(COUNT / 2);
  expect(await findRequests(log, requestAt(700), { ...search, account: account === A ? B : A })).toEqual([]);
});

it('a provider’s id names each request that has it, also where JSON escapes it', async () => {
  expect(await findRequests(log, providersId(3), search)).toEqual(found(3));
  expect(read).toBe(COUNT);
  expect(await findRequests(log, providersId(GIVEN), search)).toEqual([...found(GIVEN), ...found(GIVEN_AGAIN)]);
  expect(await findRequests(log, 'msg_3', search)).toEqual([]);
  // What stands elsewhere in a usage is no id.
  expect(await findRequests(log, 'opal-medium', search)).toEqual([]);
});

it('what nobody has is found nowhere', async () => {
  expect(await findRequests(log, requestIdFromUuid(uuidV7(FROM_MS, new Uint8Array(10).fill(255))), search)).toEqual([]);
  expect(read).toBeLessThan(2 * COUNT);
});

import { describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { uuidV7 } from '../../../contracts/ids.ts';
import { auditInstants } from '../../../ledger/audit/audit-instants.ts';
import { instantMs, uuidMs } from '../../../ledger/audit/own-times.ts';
import { requestIdFromUuid } from '../../fixtures/ledger/request-of-uuid.ts';
import { type Data, faultsOf, ledger } from './damaged-ledger.ts';

/** What stands in ids of when something was, beside what an event says of it: each of a real ledger, moved in time. */
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** By a request's command, or by that of what stands before them. */
const OF_OTHERS: ReadonlySet<string> = new Set([
  ...['UsageRecorded', 'LateUsageReported', 'CreditsDebited', 'SpendThresholdCrossed'],
]);

const moved = (instant: unknown, byMs: number): string => new Date(Date.parse(String(instant)) + byMs).toISOString();

const AT = '2026-11-20T10:00:00.000Z';
const COMMAND = uuidV7(Date.parse(AT), new Uint8Array(10));

/** What is told of one event that is recorded at `AT`, and looked at by itself. */
function toldOf(type: string, data: object): string[] {
  const told: string[] = [];
  const event = { revision: 0, position: 1, id: COMMAND, type, data };
  auditInstants({ ...event, metadata: { commandId: COMMAND, recordedAt: AT } }, (what) => told.push(what));
  return told;
}

/** What is told of the first event of a type where that is changed. */
function changed(type: string, change: (event: RecordedEvent) => Partial<RecordedEvent>): string[] {
  const at = ledger.findIndex((event) => event.type === type);
  const found = ledger[at];
  if (found === undefined) throw new Error(`the kept ledger has no ${type}`);
  const after = faultsOf(ledger.with(at, { ...found, ...change(found) }));
  const place = `${found.stream} ${found.revision}: `;
  return after.filter((fault) => fault.startsWith(place)).map((fault) => fault.slice(place.length));
}

const inData =
  (change: (data: Data) => Data) =>
  (event: RecordedEvent): Partial<RecordedEvent> => ({ data: JSON.stringify(change(JSON.parse(event.data))) });

const recorded = (byMs: number) => (event: RecordedEvent) => {
  const metadata = JSON.parse(event.metadata);
  return { metadata: JSON.stringify({ ...metadata, recordedAt: moved(metadata.recordedAt, byMs) }) };
};

describe('a request', () => {
  const started = (byMs: number): string[] =>
    changed(
      'UsageRecorded',
      inData(({ startedAt, finishedAt, ...data }) => ({
        ...data,
        ...{ startedAt: moved(startedAt, byMs), finishedAt: moved(finishedAt, byMs) },
      })),
    );
  const OTHER_TIME = /^req_\w+: starts at another time than its id was made is \S+Z, should be \S+Z$/;

  it.each([-DAY, -31 * MINUTE, 31 * MINUTE])('starts when its id was made, and not %i ms apart', (byMs) => {
    expect(started(byMs)).toContainEqual(expect.stringMatching(OTHER_TIME));
  });

  it.each([-29 * MINUTE, 29 * MINUTE])('may come slowly and wait, its clock may be set meanwhile: %i ms', (byMs) => {
    expect(started(byMs)).not.toContainEqual(expect.stringMatching(OTHER_TIME));
  });

  it('also where its usage comes late', () => {
    const requestId = requestIdFromUuid(COMMAND);
    const late = (startedAt: string) => toldOf('LateUsageReported', { requestId, usage: { requestId, startedAt } });
    expect(late(AT)).toEqual([]);
    expect(late(moved(AT, -DAY))).toEqual([`${requestId}: starts at another time than its id was made`]);
  });
});

describe('what is recorded', () => {
  const ofCommand = (type: string): RegExp =>
    new RegExp(`^${type} is recorded at another time than its command was given is \\S+Z, should be \\S+Z$`);
  const types = [...new Set(ledger.map(({ type }) => type))].filter((type) => !OF_OTHERS.has(type));

  it.each(types)('%s, is so when its command was given', (type) => {
    for (const byMs of [-30 * DAY, -2 * MINUTE, 2 * MINUTE])
      expect(changed(type, recorded(byMs)), `${byMs}`).toContainEqual(expect.stringMatching(ofCommand(type)));
  });

  it('is so by what looked at the clock twice', () => {
    expect(changed('ApiKeyIssued', recorded(MINUTE - 1_000))).toEqual([]);
  });
});

describe('what an event says of when it was', () => {
  it.each([
    ['AccountOpened', 'openedAt'],
    ['ApiKeyRevoked', 'revokedAt'],
    ['CatalogPublished', 'publishedAt'],
  ])('%s, %s', (type, name) => {
    const said = (byMs: number): string[] =>
      changed(
        type,
        inData((data) => ({ ...data, [name]: moved(data[name], byMs) })),
      );
    const told = new RegExp(`^${type} is recorded at another time than it says is \\S+Z, should be \\S+Z$`);
    for (const byMs of [-DAY, -21 * MINUTE, 21 * MINUTE, 365 * DAY])
      expect(said(byMs), `${byMs}`).toContainEqual(expect.stringMatching(told));
    expect(said(-19 * MINUTE)).not.toContainEqual(expect.stringMatching(told));
  });

  it.each([
    ['CreditsLeased', 'requestsFrom'],
    ['ProxyClaimed', 'claimedAt'],
    ['LedgerIdentified', 'identifiedAt'],
    ['LedgerMoved', 'movedAt'],
  ])('%s, %s, alone', (type, name) => {
    expect([moved(AT, 19 * MINUTE), AT, null].flatMap((at) => toldOf(type, { [name]: at }))).toEqual([]);
    for (const byMs of [-21 * MINUTE, 21 * MINUTE])
      expect(toldOf(type, { [name]: moved(AT, byMs) })).toEqual([`${type} is recorded at another time than it says`]);
  });
});

it('an instant is read as Date.parse reads it, and the time of an id with hyphens or without', () => {
  for (const at of [AT, '2024-02-29T23:59:59.999Z', '1969-07-20T20:17:40.123Z', '9999-12-31T00:00:00.001Z'])
    expect(instantMs(at)).toBe(Date.parse(at));
  for (const at of ['0050-01-01T00:00:00.000Z', '2026-11-20T10:00:00Z']) expect(instantMs(at)).toBe(Date.parse(at));
  for (const atMs of [0, 0x9af, Date.parse(AT), 2 ** 48 - 1]) {
    const uuid = uuidV7(atMs, new Uint8Array(10));
    expect([uuidMs(uuid), uuidMs(requestIdFromUuid(uuid), 4)]).toEqual([atMs, atMs]);
  }
  expect(['', '019a5b3', '019a5b3g-0000-7000', '019A5B3C-0000-7000'].map((text) => uuidMs(text))).toEqual(
    Array(4).fill(Number.NaN),
  );
});

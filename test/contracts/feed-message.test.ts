import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { type FeedHeader, FeedMessageError, feedMessage, readFeedMessage } from '../../contracts/feed-message.ts';
import {
  accountId,
  accountStream,
  eventId,
  ledgerId,
  position,
  revision,
  type StreamName,
} from '../../contracts/ids.ts';

const event: RecordedEvent = {
  stream: accountStream(accountId('acct_1')),
  revision: revision(7),
  position: position(123_456_789_012),
  id: eventId('01890a5d-ac96-774b-bcce-b302099a8057'),
  type: 'PlanChanged',
  data: '{ "plan" : "größer" }',
  metadata: JSON.stringify({
    schemaVersion: 1,
    commandId: '01890a5d-ac96-774b-bcce-b302099a8057',
    actor: 'operator',
    recordedAt: '2026-11-21T10:00:00.123Z',
  }),
};
const ledger = { ledgerId: ledgerId(`ledger_${'0189'.repeat(8)}`), generation: 2 };
const origin = { source: '/model-gateway/ledger', relayEpoch: 3, ledger };

describe('a message of the feed', () => {
  it('is a CloudEvent in binary mode, keyed by the account, its value the data byte for byte', () => {
    expect(feedMessage(event, origin)).toEqual({
      key: 'acct_1',
      value: event.data,
      headers: {
        'content-type': 'application/json',
        ce_specversion: '1.0',
        ce_id: event.id,
        ce_source: '/model-gateway/ledger',
        ce_type: 'PlanChanged',
        ce_time: '2026-11-21T10:00:00.123Z',
        ce_subject: 'account-acct_1',
        ce_stream: 'account-acct_1',
        ce_revision: '7',
        ce_position: '123456789012',
        ce_schemaversion: '1',
        ce_relayepoch: '3',
        ce_eventmetadata: event.metadata,
        ce_ledger: `ledger_${'0189'.repeat(8)}/2`,
      },
    });
  });

  it('has the name of a stream that is no account’s as its key', () => {
    expect(feedMessage({ ...event, stream: 'catalog' as StreamName }, origin).key).toBe('catalog');
  });

  it('says no time and no version of an account’s event whose metadata cannot be read', () => {
    const { headers } = feedMessage({ ...event, metadata: '' }, origin);
    expect(headers).not.toHaveProperty('ce_time');
    expect(headers).not.toHaveProperty('ce_schemaversion');
    expect(readFeedMessage(feedMessage({ ...event, metadata: '' }, origin)).metadata).toBe('');
  });

  it('is refused to any other event whose metadata cannot be read', () => {
    expect(() => feedMessage({ ...event, stream: 'catalog' as StreamName, metadata: '{}' }, origin)).toThrow(
      /catalog revision 7/,
    );
  });

  it('gives back any recorded event exactly, from the bytes that Kafka carries', () => {
    const text = fc.string({ unit: 'binary' });
    const metadata = fc
      .record({
        actor: fc.string({ unit: 'binary', minLength: 1 }),
        extra: text,
        ms: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-01-01') }),
      })
      .map(({ actor, extra, ms }) =>
        JSON.stringify({ schemaVersion: 1, commandId: 'c', actor, extra, recordedAt: ms.toISOString() }),
      );
    const recorded = fc.record({
      stream: fc.oneof(
        fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,63}$/).map((id) => accountStream(accountId(id))),
        fc.constantFrom('catalog' as StreamName, 'ledger' as StreamName),
      ),
      revision: fc.maxSafeNat().map(revision),
      position: fc.maxSafeNat().map(position),
      id: fc.uuid().map(eventId),
      type: fc.stringMatching(/^[A-Z][A-Za-z]{1,40}$/),
      data: text,
      metadata,
    });
    fc.assert(
      fc.property(recorded, fc.integer({ min: 1 }), (given, relayEpoch) => {
        const { key, value, headers } = feedMessage(given, { ...origin, relayEpoch });
        const received = {
          key: Buffer.from(key),
          value: Buffer.from(value),
          headers: Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, Buffer.from(header)])),
        };
        expect(readFeedMessage(received)).toEqual({ ...given, relayEpoch, ledger });
      }),
    );
  });
});

it('is asked for its headers once, which are made for whoever asks', () => {
  const { key, value, headers } = feedMessage(event, origin);
  let asked = 0;
  const message = {
    key,
    value,
    get headers() {
      asked++;
      return headers;
    },
  };
  expect(readFeedMessage(message)).toMatchObject({ id: event.id, ledger });
  expect(asked).toBe(1);
});

it('is read without a word of its ledger, where it is from before messages had one', () => {
  const { key, value, headers } = feedMessage(event, origin);
  const { ce_ledger: _, ...before } = headers;
  expect(readFeedMessage({ key, value, headers: before })).toEqual({ ...event, relayEpoch: 3, ledger: null });
});

describe('a message that is none of the feed’s', () => {
  const { key, value, headers } = feedMessage(event, origin);
  const partOf = (message: Parameters<typeof readFeedMessage>[0]): string => {
    try {
      readFeedMessage(message);
    } catch (error) {
      if (error instanceof FeedMessageError) return error.part;
      throw error;
    }
    return 'none';
  };
  const without = (header: string) => Object.fromEntries(Object.entries(headers).filter(([name]) => name !== header));

  it.each([
    'content-type',
    'ce_specversion',
    'ce_id',
    'ce_type',
    'ce_stream',
    'ce_revision',
    'ce_position',
    'ce_relayepoch',
    'ce_eventmetadata',
  ] satisfies FeedHeader[])('is refused by the name of the header that is missing: %s', (header) => {
    expect(partOf({ key, value, headers: without(header) })).toBe(header);
    // What another program has written may have no type, and no metadata.
    const mayBeEmpty = header === 'ce_type' || header === 'ce_eventmetadata';
    if (!mayBeEmpty) expect(partOf({ key, value, headers: { ...headers, [header]: '' } })).toBe(header);
    expect(partOf({ key, value, headers: { ...headers, [header]: ['a', 'b'] } })).toBe(header);
  });

  it.each([
    ['ce_specversion', '0.3'],
    ['content-type', 'application/avro'],
    ['ce_revision', '-1'],
    ['ce_revision', '1e3'],
    ['ce_position', '007'],
    ['ce_position', '9007199254740993'],
    ['ce_relayepoch', 'first'],
    ['ce_ledger', 'ledger_1/1'],
    ['ce_ledger', `ledger_${'0189'.repeat(8)}`],
    ['ce_ledger', `ledger_${'0189'.repeat(8)}/0`],
    ['ce_ledger', ''],
  ])('is refused by the name of the header that is wrong: %s %s', (header, wrong) => {
    expect(partOf({ key, value, headers: { ...headers, [header]: wrong } })).toBe(header);
  });

  it('is refused where its key is not that of its stream, its value is missing or its text is not UTF-8', () => {
    expect(partOf({ key: 'acct_2', value, headers })).toBe('key');
    expect(partOf({ key: null, value, headers })).toBe('key');
    expect(partOf({ key, value: null, headers })).toBe('value');
    expect(partOf({ key, value: Buffer.from([0x22, 0xff]), headers })).toBe('value');
    expect(partOf({ key, value, headers: { ...headers, ce_id: Buffer.from([0xc3]) } })).toBe('ce_id');
  });

  it('is none without headers', () => {
    expect(partOf({ key, value })).toBe('ce_specversion');
  });
});

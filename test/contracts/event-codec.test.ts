import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  decodeEvent,
  decodeMetadata,
  decodeRecorded,
  encodeEvents,
  eventMetadataSchema,
} from '../../contracts/event-codec.ts';
import type { ProposedEvent, RecordedEvent } from '../../contracts/event-log.ts';
import { versionOf } from '../../contracts/event-upcasters.ts';
import { type DomainEvent, EVENT_SCHEMAS, type EventType, isAccountEvent } from '../../contracts/events.ts';
import { accountId, accountStream, commandId, eventIdOf, position, revision } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { EXAMPLE_EVENTS, exampleOf } from '../fixtures/ledger/example-events.ts';

const RECORDING = {
  commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
  actor: 'operator',
  recordedAt: '2026-11-05T10:20:31.001Z',
};
const PLACE = { stream: accountStream(accountId('acme')), revision: revision(41), position: position(1000) };
const recorded = (proposed: ProposedEvent, change: Partial<RecordedEvent> = {}): RecordedEvent => ({
  ...proposed,
  ...PLACE,
  ...change,
});
function encodeOne(event: DomainEvent): ProposedEvent {
  const [proposed] = encodeEvents([event], RECORDING);
  if (proposed === undefined) throw new Error('nothing was encoded');
  return proposed;
}

test('an event of an earlier form is read in that form, though its text is as one of today', () => {
  const usage = exampleOf('UsageRecorded');
  const today = encodeOne({ ...usage, data: { ...usage.data, hold: microUsd(5n), uses: {}, unpriced: [] } });
  const earlier = today.metadata.replace('"schemaVersion":2', '"schemaVersion":1');
  expect(decodeEvent(recorded(today)).data).toMatchObject({ hold: 5n });
  // Before, no usage had said what was held.
  expect(decodeEvent(recorded(today, { metadata: earlier })).data).toMatchObject({ hold: null });
});

test('what is amiss with an event is said in a few words, with nothing raw in them, whatever somebody else has put into it', () => {
  const foreign = [
    recorded(encodeOne(exampleOf('CreditsGranted')), { type: `Conjured\u001b[2J\u202e${'x'.repeat(1_000_000)}` }),
    recorded(encodeOne(exampleOf('CreditsGranted')), {
      data: JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`f${at}`, at]))),
    }),
  ];
  for (const event of foreign) {
    const said = saidOf(() => decodeEvent(event));
    expect(said.length).toBeLessThan(1_000);
    expect(said).toContain(event.stream);
    expect(said).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
});

function saidOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof UnreadableEventError) return error.message;
  }
  throw new Error('it was read');
}

describe('an event', () => {
  test('of each type has an example here', () => {
    expect([...new Set(EXAMPLE_EVENTS.map(({ type }) => type))].sort()).toEqual(Object.keys(EVENT_SCHEMAS).sort());
  });

  test.each(EXAMPLE_EVENTS.map((event) => [event.type, event] as const))(
    '%s is read back as it was',
    (_type, event) => {
      expect(decodeEvent(recorded(encodeOne(event)))).toEqual(event);
    },
  );

  test('has its amounts as decimal strings in the stored JSON, and no JSON number beyond what a float holds', () => {
    const data: unknown = JSON.parse(encodeOne(exampleOf('CreditsDebited')).data);
    expect(data).toMatchObject({
      cost: '24217500000',
      carryBefore: '999999',
      amount: '24218',
      balanceAfter: '-218',
      monthToDateAfter: '9007199254740993',
      lines: [{ rate: '6000000', cost: '6000000000', tokens: 1000 }, {}, {}, {}],
      grants: [{ grantId: 'grant-1', amount: '24000' }],
    });
  });

  test('has an id made of its command and index, and metadata that says who, why and when', () => {
    const proposed = encodeEvents([exampleOf('UsageRecorded'), exampleOf('CreditsDebited')], RECORDING);
    expect(proposed.map(({ id }) => id)).toEqual([0, 1].map((index) => eventIdOf(RECORDING.commandId, index)));
    for (const event of proposed) expect(decodeMetadata(recorded(event))).toEqual({ schemaVersion: 2, ...RECORDING });
  });

  test.each([
    { ...exampleOf('AccountSuspended'), data: { reason: '' } },
    { ...exampleOf('CreditsExpired'), data: { ...exampleOf('CreditsExpired').data, amount: microUsd(-1n) } },
    { ...exampleOf('ApiKeyRevoked'), data: { ...exampleOf('ApiKeyRevoked').data, revokedAt: '2026-11-05' } },
    { ...exampleOf('AccountOpened'), data: { ...exampleOf('AccountOpened').data, secret: 'x' } },
  ])('that breaks its own schema is not encoded (%#)', (event) => {
    expect(() => encodeEvents([event], RECORDING)).toThrow();
  });

  test('belongs to an account or does not', () => {
    const others = new Set(EXAMPLE_EVENTS.filter((event) => !isAccountEvent(event)).map(({ type }) => type));
    expect([...others]).toEqual([
      'CatalogPublished',
      'RelayClaimed',
      'RelayCheckpointed',
      'RelayReleased',
      'ProxyClaimed',
      'LedgerIdentified',
      'LossAccepted',
      'FormsAdopted',
      'ProviderReconciled',
      'SealKeyIntroduced',
      'LedgerSealed',
      'LedgerMoved',
    ]);
  });
});

describe('a stored event that cannot be read', () => {
  const granted = encodeOne(exampleOf('CreditsGranted'));
  const debited = encodeOne(exampleOf('CreditsDebited'));
  const withData = (proposed: ProposedEvent, change: object): RecordedEvent =>
    recorded(proposed, { data: JSON.stringify({ ...JSON.parse(proposed.data), ...change }) });
  const withVersion = (schemaVersion: unknown): RecordedEvent =>
    recorded(granted, { metadata: JSON.stringify({ ...JSON.parse(granted.metadata), schemaVersion }) });
  const where = /^account-acme revision 41 \(/;

  test.each([
    ['an unknown type', recorded(granted, { type: 'CreditsConjured' }), /unknown type "CreditsConjured"/],
    ['a type of the prototype', recorded(granted, { type: 'constructor' }), /unknown type "constructor"/],
    ['no JSON', recorded(granted, { data: '{"grantId":' }), /its data is not JSON/],
    ['a missing field', withData(granted, { grantId: undefined }), /grantId: required/],
    ['an amount as a number', withData(granted, { amount: 5_000_000 }), /amount: /],
    ['a negative amount', withData(granted, { amount: '-1' }), /amount: expected a whole amount/],
    ['a fractional amount', withData(granted, { amount: '1.5' }), /amount: expected a whole amount/],
    ['an amount with leading zeros', withData(granted, { amount: '007' }), /amount: expected a whole amount/],
    ['an unknown field', withData(granted, { surprise: 1 }), /surprise/],
    ['a month that there is not', withData(debited, { month: '2026-13' }), /month: /],
    ['an instant in local time', withData(granted, { effectiveAt: '2026-11-05T10:20:30.456+01:00' }), /effectiveAt: /],
  ])('for %s names its stream and revision', (_what, event, problem) => {
    expect(() => decodeEvent(event)).toThrow(UnreadableEventError);
    expect(() => decodeEvent(event)).toThrow(where);
    expect(() => decodeEvent(event)).toThrow(problem);
  });

  test('for a schema version of a newer program names its stream and revision', () => {
    expect(() => decodeMetadata(withVersion(2))).toThrow(UnreadableEventError);
    expect(() => decodeMetadata(withVersion(2))).toThrow(where);
    expect(() => decodeMetadata(withVersion(2))).toThrow(/schema version 2 is newer than this program's 1/);
  });

  test.each([0, '1', null])('for schema version %j names its stream and revision', (schemaVersion) => {
    expect(() => decodeMetadata(withVersion(schemaVersion))).toThrow(UnreadableEventError);
    expect(() => decodeMetadata(withVersion(schemaVersion))).toThrow(where);
  });

  test.each(['schemaVersion', 'commandId', 'actor', 'recordedAt'])('for %s beside it goes by the schema', (field) => {
    const wrong = [
      ...[undefined, null, true, '', 'x', ' ', [], {}, 0, -0, 1, -1, 1.5, 2 ** 53, '1', '2026-11-05'],
      ...['2026-11-05T10:20:30.456Z', '2026-11-05T10:20:30Z', '2026-02-30T10:20:30.456Z', '2026-11-05T10:20:30.456Z\n'],
    ];
    for (const value of wrong) {
      const metadata = { ...JSON.parse(granted.metadata), [field]: value };
      const stored = recorded(granted, { metadata: JSON.stringify(metadata) });
      if (eventMetadataSchema.safeParse(metadata).success) {
        expect(decodeMetadata(stored)).toEqual(metadata);
        expect(decodeEvent(stored)).toEqual(exampleOf('CreditsGranted'));
      } else {
        expect(() => decodeMetadata(stored)).toThrow(where);
        expect(() => decodeEvent(stored)).toThrow(where);
      }
    }
  });

  test.each([
    ['spaces', '"schemaVersion": 1', true],
    ['a number as a power', '"schemaVersion":1e0', true],
    ['an escape', '"actor":"oper\\u0061tor"', true],
    ['an escaped quote', '"actor":"oper\\"ator"', true],
    ['a field more', '"note":"x","schemaVersion":1', true],
    ['a version said again', '"schemaVersion":2,"schemaVersion":1', true],
    ['an escape that there is not', '"actor":"oper\\ator"', false],
    ['a raw line break', '"actor":"oper\nator"', false],
    ['a quote in a text', '"actor":"oper"ator"', false],
    ['a leading zero', '"schemaVersion":01', false],
    ['a newer version said last', '"schemaVersion":1,"schemaVersion":2', false],
    ['a version of ten digits', '"schemaVersion":1000000000', false],
  ])('for metadata with %s goes by what JSON says', (_what, text, isRead) => {
    const [name] = text.split(':').slice(-2);
    const field = new RegExp(`${name?.split(',').at(-1)}:("[^"]*"|[0-9]+)`);
    const stored = recorded(granted, { metadata: granted.metadata.replace(field, () => text) });
    expect(stored.metadata).toContain(text);
    if (isRead) expect(decodeEvent(stored)).toEqual(exampleOf('CreditsGranted'));
    else expect(() => decodeEvent(stored)).toThrow(where);
  });

  test('for metadata that is not JSON names its stream and revision', () => {
    const event = recorded(granted, { metadata: 'no JSON' });
    expect(() => decodeMetadata(event)).toThrow(UnreadableEventError);
    expect(() => decodeMetadata(event)).toThrow(where);
  });

  test('is refused by its newer schema version before its data are folded, though they look readable', () => {
    expect(() => decodeEvent(withVersion(2))).toThrow(UnreadableEventError);
    expect(() => decodeEvent(withVersion(2))).toThrow(/schema version 2/);
  });
});

/**
 * What version 1 has written stays readable for ever. A line is only ever added to this file, for a new type or a new
 * form of one; when a line turns red, the program has lost the ability to read ledgers that exist.
 */
describe('the golden events', () => {
  const lines = readFileSync(new URL('./golden/events-v1.ndjson', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  const stored = lines.map((line): RecordedEvent => ({ ...JSON.parse(line), ...PLACE }));

  test('hold an example of every type that there is', () => {
    const types = new Set(stored.map(({ type }) => type));
    expect(Object.keys(EVENT_SCHEMAS).filter((type) => !types.has(type))).toEqual([]);
  });

  const isOfToday = (event: RecordedEvent): boolean =>
    decodeMetadata(event).schemaVersion === versionOf(event.type as EventType);

  test.each(stored.filter(isOfToday).map((event) => [event.type, event] as const))(
    '%s is decoded and encoded to the same bytes',
    (_, event) => {
      const { schemaVersion: _version, ...recording } = decodeMetadata(event);
      const [again] = encodeEvents([decodeEvent(event)], { ...recording, commandId: commandId(recording.commandId) });
      expect(again).toEqual({ id: event.id, type: event.type, data: event.data, metadata: event.metadata });
    },
  );

  test('hold every version of each type, also those that are written no more', () => {
    const held = new Set(stored.map((event) => `${event.type} ${decodeMetadata(event).schemaVersion}`));
    const all = Object.keys(EVENT_SCHEMAS).flatMap((type) =>
      Array.from({ length: versionOf(type as EventType) }, (_, index) => `${type} ${index + 1}`),
    );
    expect(all.filter((form) => !held.has(form))).toEqual([]);
  });

  test.each(stored.map((event) => [`${event.type} ${decodeMetadata(event).schemaVersion}`, event] as const))(
    '%s is handed out as it is stored, too, untouched by what was made of it',
    (_, event) => {
      expect(JSON.stringify(decodeRecorded(event).stored)).toBe(event.data);
    },
  );

  test('mean what they meant: amounts are the same integers', () => {
    expect(stored.map(decodeEvent)).toEqual(EXAMPLE_EVENTS);
  });
});

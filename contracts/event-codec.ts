import { z } from 'zod';
import { text } from './bounded-length.ts';
import { INSTANT_PATTERN, instantField } from './event-fields.ts';
import type { Forms } from './event-forms.ts';
import type { EventWithoutId, ProposedEvent } from './event-log.ts';
import { upcast, versionOf } from './event-upcasters.ts';
import { type DomainEvent, EVENT_SCHEMAS, type EventType } from './events.ts';
import { describeFault, fieldFaults } from './field-faults.ts';
import { type CommandId, eventIdOf } from './ids.ts';
import { isObject } from './json-object.ts';
import { brief } from './printable.ts';
import { UnreadableEventError } from './unreadable-event-error.ts';
import { isTakenByHand, readByHand, storeByHand } from './usage-by-hand.ts';
import { isUsageText, readText } from './usage-text.ts';

/** What stands beside an event's data: who caused it, by which command, and when it was written down. */
export const eventMetadataSchema = z.looseObject({
  schemaVersion: z.int().min(1),
  /** The command that caused it; for usage and debits the request's own UUID. */
  commandId: text,
  actor: text,
  recordedAt: instantField,
});
export type EventMetadata = z.infer<typeof eventMetadataSchema>;

/** What stands beside a claim of a proxy or relay; in its data, programs of before would refuse it. */
const claimMetadataSchema = eventMetadataSchema.extend({
  /** What the claiming process reads beyond BASE_FORMS (event-forms.ts). */
  reads: z.record(z.string(), z.int().min(1)).default({}),
  /** The process of this claim has stopped in order: it reads nothing any more. */
  ended: z.boolean().default(false),
});
type ClaimMetadata = z.infer<typeof claimMetadataSchema>;

export interface Recording {
  readonly commandId: CommandId;
  /** Who asked for it: "operator", "gateway", a key's id. */
  readonly actor: string;
  /** RFC 3339. */
  readonly recordedAt: string;
}

/** As it is written beside a claim. */
interface ClaimRecording extends Recording {
  readonly reads: Forms;
  readonly ended?: true;
}

/** As the log stores them; ids are of the command and the index. @throws Error for one that breaks its schema */
export function encodeEvents(events: readonly DomainEvent[], recording: Recording | ClaimRecording): ProposedEvent[] {
  return events.map((event, index) => ({
    id: eventIdOf(recording.commandId, index),
    type: event.type,
    data: JSON.stringify(encodeData(event)),
    metadata: JSON.stringify({ schemaVersion: versionOf(event.type), ...recording }),
  }));
}

function encodeData(event: DomainEvent): unknown {
  const stored = storeByHand(event.type, event.data);
  if (stored !== null) return stored;
  const schema: z.ZodType = EVENT_SCHEMAS[event.type];
  return z.encode(schema, event.data);
}

/** Reads a stored event. @throws UnreadableEventError with the stream, revision and fault. */
export function decodeEvent(recorded: EventWithoutId): DomainEvent {
  const form = decodeVersion(recorded);
  const { type, data } = recorded;
  const read = isEventType(type) && form.schemaVersion === versionOf(type) ? readText(type, data) : null;
  return read === null ? decodeForm(recorded, form) : ({ type, data: read } as DomainEvent);
}

/** What is stored, read whole. */
interface DecodedRecord {
  readonly event: DomainEvent;
  readonly metadata: EventMetadata;
  /** The data's JSON in the form in which it is stored, parsed and no more. */
  readonly stored: unknown;
}

/** The same with what stands beside it. */
export function decodeRecorded(recorded: EventWithoutId): DecodedRecord {
  const metadata = decodeMetadata(recorded);
  const stored = parseJson(recorded, 'data');
  return { event: decodeForm(recorded, metadata, stored), metadata, stored };
}

interface CheckedRecord extends Omit<DecodedRecord, 'event'> {
  /** As JSON.stringify writes it: where a name stands twice, other readers may take the other value. */
  readonly isAsWritten: boolean;
}

/** The same without an event made of it, for whoever reads what is stored with its own eyes. @throws as `decodeEvent` */
export function checkRecorded(recorded: EventWithoutId): CheckedRecord {
  const { type, data } = recorded;
  const written = metadataAsWritten(recorded.metadata);
  const metadata = written === null ? decodeMetadata(recorded) : ofKnownVersion(recorded, written);
  const stored = parseJson(recorded, 'data');
  const isKnown = isUsageAsWritten(recorded, metadata);
  if (!isKnown && !isCheckedByHand(type, metadata.schemaVersion, stored)) decodeForm(recorded, metadata, stored);
  const isAsWritten =
    (isKnown || JSON.stringify(stored) === data) &&
    (written !== null || JSON.stringify(parseJson(recorded, 'metadata')) === recorded.metadata);
  return { metadata, stored, isAsWritten };
}

/** Whether it is a request's event in the very text that this program writes: then its schema takes it. */
export const isUsageAsWritten = (recorded: EventWithoutId, form: Form = decodeVersion(recorded)): boolean =>
  isUsageText(recorded.type, recorded.data) && form.schemaVersion === versionOf(recorded.type);

const isCheckedByHand = (type: string, version: number, stored: unknown): boolean =>
  isEventType(type) && isTakenByHand(type, upcast(type, version, stored));

/** @param form whose version is known to be none of a newer program, of which an event may look readable and mean something else */
function decodeForm(
  recorded: EventWithoutId,
  { schemaVersion }: Form,
  stored: unknown = parseJson(recorded, 'data'),
): DomainEvent {
  if (!isEventType(recorded.type)) throw unreadable(recorded, `unknown type ${JSON.stringify(recorded.type)}`);
  const today = upcast(recorded.type, schemaVersion, stored);
  const data = readByHand(recorded.type, today);
  if (data !== null) return { type: recorded.type, data } as DomainEvent;
  const schema: z.ZodType = EVENT_SCHEMAS[recorded.type];
  const result = schema.safeParse(today);
  if (!result.success) throw unreadable(recorded, fieldFaults(result.error).map(describeFault).join('; '));
  return { type: recorded.type, data: result.data } as DomainEvent;
}

type Form = Pick<EventMetadata, 'schemaVersion'>;

/** Metadata as `encodeEvents` writes them: what matches is JSON, and what the schema takes. */
const TEXT = '"[ !#-[\\]-\\uffff]+"';
const AS_WRITTEN = new RegExp(
  `^\\{"schemaVersion":[1-9]\\d{0,8},"commandId":${TEXT},"actor":${TEXT},"recordedAt":"${INSTANT_PATTERN.source.slice(1, -1)}"\\}$`,
);
const VERSION_AT = '{"schemaVersion":'.length;
const INSTANT_LENGTH = '2026-11-21T10:00:00.000Z'.length;

/** Null where they are of another form. Nothing in them is escaped: each value is what stands between its quotes. */
function metadataAsWritten(text: string): EventMetadata | null {
  if (!AS_WRITTEN.test(text)) return null;
  const versionEnd = text.indexOf(',', VERSION_AT);
  const commandAt = versionEnd + ',"commandId":"'.length;
  const commandEnd = text.indexOf('"', commandAt);
  const recordedEnd = text.length - '"}'.length;
  const recordedAt = recordedEnd - INSTANT_LENGTH;
  return {
    schemaVersion: Number(text.slice(VERSION_AT, versionEnd)),
    commandId: text.slice(commandAt, commandEnd),
    actor: text.slice(commandEnd + '","actor":"'.length, recordedAt - '","recordedAt":"'.length),
    recordedAt: text.slice(recordedAt, recordedEnd),
  };
}

/** Of the metadata what a fold needs: to look whether they match takes a fifth as long as to parse them, for each event of a replay. */
function decodeVersion(recorded: EventWithoutId): Form {
  const { metadata } = recorded;
  if (!AS_WRITTEN.test(metadata)) return decodeMetadata(recorded);
  return ofKnownVersion(recorded, { schemaVersion: Number.parseInt(metadata.slice(VERSION_AT, VERSION_AT + 9), 10) });
}

/** When a stored event was written down. @throws UnreadableEventError as `decodeMetadata` */
export const decodeRecordedAt = (recorded: EventWithoutId): string =>
  AS_WRITTEN.test(recorded.metadata)
    ? recorded.metadata.slice(-'2027-01-01T00:00:00.000Z"}'.length, -'"}'.length)
    : decodeMetadata(recorded).recordedAt;

/** Reads what stands beside a stored event. @throws UnreadableEventError also for a schema version of a newer program. */
export function decodeMetadata(recorded: EventWithoutId): EventMetadata {
  const written = metadataAsWritten(recorded.metadata);
  if (written !== null) return ofKnownVersion(recorded, written);
  const value = parseJson(recorded, 'metadata');
  // By zod it takes as long as the data of a debit by hand, for each event of a replay.
  return isMetadata(value) ? ofKnownVersion(recorded, value) : metadataBy(eventMetadataSchema, recorded, value);
}

/** True only where the schema takes it as it is. */
const isMetadata = (of: unknown): of is EventMetadata =>
  isObject(of) &&
  Number.isSafeInteger(of.schemaVersion) &&
  (of.schemaVersion as number) >= 1 &&
  isText(of.commandId) &&
  isText(of.actor) &&
  typeof of.recordedAt === 'string' &&
  INSTANT_PATTERN.test(of.recordedAt);

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** The same for a claim's. @throws UnreadableEventError */
export function decodeClaimMetadata(recorded: EventWithoutId): ClaimMetadata {
  return metadataBy(claimMetadataSchema, recorded, parseJson(recorded, 'metadata'));
}

function metadataBy<T extends EventMetadata>(schema: z.ZodType<T>, recorded: EventWithoutId, value: unknown): T {
  const result = schema.safeParse(value);
  if (!result.success) throw unreadable(recorded, fieldFaults(result.error).map(describeFault).join('; '));
  return ofKnownVersion(recorded, result.data);
}

function ofKnownVersion<T extends Form>(recorded: EventWithoutId, metadata: T): T {
  const newest = isEventType(recorded.type) ? versionOf(recorded.type) : 1;
  if (metadata.schemaVersion > newest)
    throw unreadable(recorded, `schema version ${metadata.schemaVersion} is newer than this program's ${newest}`);
  return metadata;
}

const isEventType = (type: string): type is EventType => Object.hasOwn(EVENT_SCHEMAS, type);

function parseJson(recorded: EventWithoutId, part: 'data' | 'metadata'): unknown {
  try {
    return JSON.parse(recorded[part]);
  } catch (cause) {
    throw unreadable(recorded, `its ${part} is not JSON`, { cause });
  }
}

const unreadable = (recorded: EventWithoutId, problem: string, options?: ErrorOptions): UnreadableEventError =>
  new UnreadableEventError(
    `${brief(recorded.stream)} revision ${recorded.revision} (${brief(recorded.type)}): ${brief(problem)}`,
    options,
  );

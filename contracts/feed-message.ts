import { decodeMetadata, type EventMetadata } from './event-codec.ts';
import type { RecordedEvent } from './event-log.ts';
import { accountOfStream, eventId, position, revision, type StreamName } from './ids.ts';
import { identityOfText, identityText, type LedgerIdentity } from './ledger-identity.ts';
import { UnreadableEventError } from './unreadable-event-error.ts';

/**
 * A recorded event as a message of the feed: CloudEvents 1.0 in the Kafka protocol binding's binary mode
 * (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md, section 3.2).
 *
 *   key      the account's id, so that an account's events are in one partition and in order; other streams: their name
 *   value    the event's data, byte for byte
 *   headers  content-type application/json, ce_specversion 1.0, ce_id, ce_source, ce_type,
 *            ce_time (when it was written down; this and ce_schemaversion only where its metadata can be read), ce_subject (the stream), and as extension attributes
 *            ce_stream, ce_revision, ce_position, ce_schemaversion, ce_relayepoch,
 *            ce_eventmetadata (the metadata's text, byte for byte),
 *            ce_ledger (whose it is: the ledger's id, a slash, its generation; messages from before have none)
 *
 * A message may come more than once: what it is goes by ce_stream and ce_revision.
 */
export interface FeedMessage {
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<Exclude<FeedHeader, StampHeader>, string> & Partial<Record<StampHeader, string>>>;
}

const FEED_HEADERS = [
  'content-type',
  'ce_specversion',
  'ce_id',
  'ce_source',
  'ce_type',
  'ce_time',
  'ce_subject',
  'ce_stream',
  'ce_revision',
  'ce_position',
  'ce_schemaversion',
  'ce_relayepoch',
  'ce_eventmetadata',
  'ce_ledger',
] as const;

export type FeedHeader = (typeof FEED_HEADERS)[number];
/** Those that `readFeedMessage` looks at: whoever decodes messages for it need not make the others. */
export const READ_HEADERS: ReadonlySet<string> = new Set<FeedHeader>([
  'content-type',
  'ce_specversion',
  'ce_id',
  'ce_type',
  'ce_stream',
  'ce_revision',
  'ce_position',
  'ce_relayepoch',
  'ce_eventmetadata',
  'ce_ledger',
]);
/** What the event's metadata says. */
type StampHeader = 'ce_time' | 'ce_schemaversion';

interface FeedOrigin {
  /** The CloudEvents source, a URI reference. */
  readonly source: string;
  /** Which claim the relay published under: the number grows with every claim. */
  readonly relayEpoch: number;
  /** The ledger that the event is of, as it is now: what a topic has is of one ledger, in one generation of it. */
  readonly ledger: LedgerIdentity;
}

/** An event as a consumer of the feed reads it. */
export interface FeedEvent extends RecordedEvent {
  readonly relayEpoch: number;
  /** Null where the message is from before they said so. */
  readonly ledger: LedgerIdentity | null;
}

/** A message as it comes from Kafka: kafkajs gives bytes, others text. */
export interface ReceivedMessage {
  readonly key: Uint8Array | string | null;
  readonly value: Uint8Array | string | null;
  readonly headers?: Readonly<Record<string, ReceivedHeader>> | undefined;
}

type ReceivedHeader = Uint8Array | string | null | readonly (Uint8Array | string | null)[] | undefined;

/** A message that is none of the feed's. `part` is the header at fault, or `key` or `value`. */
export class FeedMessageError extends Error {
  override readonly name = 'FeedMessageError';
  readonly part: FeedHeader | 'key' | 'value';

  constructor(part: FeedHeader | 'key' | 'value', problem: string) {
    super(`${part}: ${problem}`);
    this.part = part;
  }
}

/**
 * An event of an account is a message also where this program cannot read it: its bytes go out as they are, and of its
 * metadata nothing is said but the text itself. A gap would stop every reader of the feed, and this account is theirs to leave out.
 * @throws UnreadableEventError when the metadata of any other event cannot be read by this program.
 */
export function feedMessage(
  event: RecordedEvent,
  { source, relayEpoch, ledger }: FeedOrigin,
  metadata: EventMetadata | null = metadataOf(event),
): FeedMessage {
  return {
    key: accountOfStream(event.stream) ?? event.stream,
    value: event.data,
    headers: {
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: event.id,
      ce_source: source,
      ce_type: event.type,
      ce_subject: event.stream,
      ce_stream: event.stream,
      ce_revision: String(event.revision),
      ce_position: String(event.position),
      ce_relayepoch: String(relayEpoch),
      ce_eventmetadata: event.metadata,
      ce_ledger: identityText(ledger),
      ...(metadata === null ? {} : stampsOf(metadata)),
    },
  };
}

function stampsOf({ recordedAt, schemaVersion }: EventMetadata): Record<StampHeader, string> {
  return { ce_time: recordedAt, ce_schemaversion: String(schemaVersion) };
}

function metadataOf(event: RecordedEvent): EventMetadata | null {
  try {
    return decodeMetadata(event);
  } catch (error) {
    if (!(error instanceof UnreadableEventError) || accountOfStream(event.stream) === null) throw error;
    return null;
  }
}

/** The event that a message was made of, exactly. @throws FeedMessageError that names the header at fault. */
export function readFeedMessage({ key: keyBytes, value, headers }: ReceivedMessage): FeedEvent {
  const text = (header: FeedHeader): string => headerText(headers, header);
  if (text('ce_specversion') !== '1.0') throw new FeedMessageError('ce_specversion', 'expected "1.0"');
  if (text('content-type') !== 'application/json')
    throw new FeedMessageError('content-type', 'expected "application/json"');
  const stream = text('ce_stream') as StreamName;
  const key = keyBytes === null ? null : utf8(keyBytes, 'key');
  if (key !== (accountOfStream(stream) ?? stream))
    throw new FeedMessageError('key', `is not that of the stream ${JSON.stringify(stream)}`);
  if (value === null) throw new FeedMessageError('value', 'is missing');
  return {
    stream,
    revision: revision(wholeNumber('ce_revision', text('ce_revision'))),
    position: position(wholeNumber('ce_position', text('ce_position'))),
    id: eventId(text('ce_id')),
    type: headerText(headers, 'ce_type', { mayBeEmpty: true }),
    data: utf8(value, 'value'),
    metadata: headerText(headers, 'ce_eventmetadata', { mayBeEmpty: true }),
    relayEpoch: wholeNumber('ce_relayepoch', text('ce_relayepoch')),
    ledger: headers?.ce_ledger === undefined ? null : ledgerOf(text('ce_ledger')),
  };
}

function ledgerOf(text: string): LedgerIdentity {
  const ledger = identityOfText(text);
  if (ledger === null) throw new FeedMessageError('ce_ledger', `is no ledger’s identity: ${JSON.stringify(text)}`);
  return ledger;
}

function headerText(headers: ReceivedMessage['headers'], header: FeedHeader, { mayBeEmpty = false } = {}): string {
  const value = headers?.[header];
  if (value === undefined || value === null) throw new FeedMessageError(header, 'is missing');
  if (typeof value !== 'string' && !(value instanceof Uint8Array))
    throw new FeedMessageError(header, 'stands there more than once');
  const text = utf8(value, header);
  if (text === '' && !mayBeEmpty) throw new FeedMessageError(header, 'is empty');
  return text;
}

/** The byte order mark is kept, for every byte is. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function utf8(value: Uint8Array | string, part: FeedMessageError['part']): string {
  if (typeof value === 'string') return value;
  try {
    return decoder.decode(value);
  } catch {
    throw new FeedMessageError(part, 'is not UTF-8');
  }
}

function wholeNumber(header: FeedHeader, text: string): number {
  const value = Number(text);
  if (!/^(?:0|[1-9]\d*)$/.test(text) || !Number.isSafeInteger(value))
    throw new FeedMessageError(header, `expected a whole number, not ${JSON.stringify(text)}`);
  return value;
}

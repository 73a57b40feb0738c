import { EventLogError, type EventLogErrorKind } from '../../../contracts/event-log.ts';

/** What an error of the client means for a call that may have written something. */
export interface Fault {
  readonly kind: Exclude<EventLogErrorKind, 'closed'>;
  /** Whether the client that threw it can be used further: a suspect one until it has been so several times in a row. */
  readonly client: 'sound' | 'suspect' | 'poisoned';
  readonly isAccessDenied: boolean;
  /** The server does not know the user, or not by this password. */
  readonly isUnknownUser: boolean;
  readonly isNotLeader: boolean;
  /** The server does not know the call. */
  readonly isUnimplemented: boolean;
  /** The server has given an append up for its time: also one that came while its first try was under way. */
  readonly isAborted: boolean;
  /** One line, of the server's or the client's own words. */
  readonly reason: string;
}

type Meaning = readonly [kind: Fault['kind'], client: Fault['client']];

/** The client's `CommandError.type`, which is also what the server sends in the trailer `exception`. */
const MEANING_OF_TYPE: Readonly<Record<string, Meaning>> = {
  'not-leader': ['unavailable', 'sound'],
  'access-denied': ['unavailable', 'sound'],
  'stream-deleted': ['invalid', 'sound'],
  'maximum-append-size-exceeded': ['invalid', 'sound'],
  'missing-required-metadata-property': ['invalid', 'sound'],
  'invalid-argument': ['invalid', 'sound'],
  // Of one append among many: whatever went wrong before it was handed to the log.
  'bad-request': ['unavailable', 'sound'],
  unsupported: ['invalid', 'sound'],
  cancelled: ['ambiguous', 'sound'],
  timeout: ['ambiguous', 'sound'],
  'deadline-exceeded': ['ambiguous', 'suspect'],
};

/** gRPC status codes. What is not here is not known, and what is not known may have been written. */
const MEANING_OF_CODE: Readonly<Record<number, Meaning>> = {
  1: ['ambiguous', 'sound'], // CANCELLED
  3: ['invalid', 'sound'], // INVALID_ARGUMENT
  4: ['ambiguous', 'suspect'], // DEADLINE_EXCEEDED
  5: ['ambiguous', 'sound'], // NOT_FOUND
  7: ['unavailable', 'sound'], // PERMISSION_DENIED
  8: ['ambiguous', 'suspect'], // RESOURCE_EXHAUSTED
  10: ['ambiguous', 'sound'], // ABORTED: the server's own timeouts
  12: ['unavailable', 'sound'], // UNIMPLEMENTED
  14: ['ambiguous', 'sound'], // UNAVAILABLE: the client reconnects by itself
  16: ['unavailable', 'sound'], // UNAUTHENTICATED
};
const UNKNOWN_MEANING: Meaning = ['ambiguous', 'poisoned'];

const CHANNEL_DROPPED = 'Channel has been shut down';
/** Words for what is no fault of the client: its channel dropped for another call's sake, or a subscriber that lagged. */
const SOUND = [CHANNEL_DROPPED, 'Consumer too slow'];
/** Words of grpc-js, of its HTTP/2 layer and of the server for a call that never reached the log. */
const NEVER_SENT = [
  CHANNEL_DROPPED,
  'No connection established',
  'Name resolution failed',
  'Channel closed before call started',
  'Waiting for LB pick',
  'client error (Connect)',
  'Failed to discover',
  'Server Is Busy',
  'Server Is Not Ready',
  'No leader info available',
];

const WRONG_USER = 'the user or the password in the connection string is wrong';
const ABORTED = 10;
const UNIMPLEMENTED = 12;
const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

/** Classifies typed CommandErrors, raw gRPC errors by trailer and code, and everything else. */
export function faultOf(error: unknown): Fault {
  const { type, code, reason } = partsOf(error);
  const meaning = (type && MEANING_OF_TYPE[type]) || MEANING_OF_CODE[code ?? -1] || UNKNOWN_MEANING;
  const wasNeverSent = NEVER_SENT.some((words) => reason.includes(words));
  return {
    kind: wasNeverSent && meaning[0] === 'ambiguous' ? 'unavailable' : meaning[0],
    client: SOUND.some((words) => reason.includes(words)) ? 'sound' : meaning[1],
    isAccessDenied: type === 'access-denied' || code === PERMISSION_DENIED,
    isUnknownUser: code === UNAUTHENTICATED,
    isNotLeader: type === 'not-leader',
    isUnimplemented: code === UNIMPLEMENTED,
    isAborted: code === ABORTED,
    reason: code === UNAUTHENTICATED ? `${WRONG_USER} (${reason})` : reason,
  };
}

export function appendError(error: unknown): EventLogError {
  if (error instanceof EventLogError) return error;
  const { kind, reason } = faultOf(error);
  return new EventLogError(kind, `EventStoreDB: ${reason}`, { cause: withoutNote(error) });
}

/** The port's error for a failed read, which writes nothing: there is nothing ambiguous about it. */
export function readError(error: unknown): EventLogError {
  const appended = appendError(error);
  if (appended.kind !== 'ambiguous') return appended;
  return new EventLogError('unavailable', appended.message, { cause: error });
}

export function isStreamDeleted(error: unknown): boolean {
  const raw = error instanceof EventLogError ? error.cause : error;
  return partsOf(raw).type === 'stream-deleted';
}

/** The trailers of an error, by name; the client's typed errors carry the raw one. */
export function trailerOf(error: unknown, name: string): string | null {
  const raw = fieldOf(error, '_raw') ?? error;
  const metadata = fieldOf(raw, 'metadata');
  const get = fieldOf(metadata, 'get');
  if (typeof get !== 'function') return null;
  const [value]: unknown[] = get.call(metadata, name) as unknown[];
  return value === undefined ? null : String(value);
}

function partsOf(error: unknown): { type: string | null; code: number | null; reason: string } {
  const type = fieldOf(error, 'type') ?? trailerOf(error, 'exception');
  const code = fieldOf(error, 'code');
  const details = fieldOf(error, 'details');
  const message = typeof details === 'string' && details !== '' ? details : fieldOf(error, 'message');
  return {
    type: typeof type === 'string' ? type : null,
    code: typeof code === 'number' ? code : null,
    reason: oneLine(typeof message === 'string' && message !== '' ? message : String(error)),
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value ? Reflect.get(value, name) : undefined;
}

/** What grpc-js says behind the reason of how it looked for the address: nothing, nearly always. */
const GRPC_NOTE = / *Resolution note:.*$/m;
/** What is logged of an error has its cause's words, too: this one is grpc-js's own, of this one call. */
function withoutNote(error: unknown): unknown {
  if (error instanceof Error) {
    error.message = error.message.replace(GRPC_NOTE, '');
    if (error.stack !== undefined) error.stack = error.stack.replace(GRPC_NOTE, '');
  }
  return error;
}

const REASON_CHARS_MAX = 300;
const oneLine = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replace(GRPC_NOTE, '').slice(0, REASON_CHARS_MAX);

/** Identifiers that must not be mixed up carry a brand. A brand is minted here and nowhere else. */
export type AccountId = string & { readonly __brand: 'AccountId' };
export type KeyId = string & { readonly __brand: 'KeyId' };
export type GrantId = string & { readonly __brand: 'GrantId' };
/** `req_` and the 32 hexadecimal digits of a UUIDv7. */
export type RequestId = string & { readonly __brand: 'RequestId' };
/** Of a payment attempt: once in its account. */
export type AttemptId = string & { readonly __brand: 'AttemptId' };
/** What a payment provider calls a payment. */
export type PaymentId = string & { readonly __brand: 'PaymentId' };
/** A UUIDv7 in its usual form, from which the ids of the events that a command causes are made. */
export type CommandId = string & { readonly __brand: 'CommandId' };
export type LeaseId = string & { readonly __brand: 'LeaseId' };
/** A proxy of the fleet: made once for a data folder and kept in it. */
export type ProxyId = string & { readonly __brand: 'ProxyId' };
/** A ledger: made at its birth, kept in its log for ever. */
export type LedgerId = string & { readonly __brand: 'LedgerId' };
export type EventId = string & { readonly __brand: 'EventId' };
/** `category-id`, or a category alone where there is one stream of it (`catalog`, `ledger`). */
export type StreamName = string & { readonly __brand: 'StreamName' };
/** An event's place in its stream, from 0; NO_STREAM is the expected revision of a stream that must not exist yet. */
export type Revision = number & { readonly __brand: 'Revision' };
/** An event's place in the whole log. Ordered, not necessarily contiguous. */
export type Position = number & { readonly __brand: 'Position' };

export const NO_STREAM = -1 as Revision;

export const accountId = (text: string): AccountId => text as AccountId;
export const keyId = (text: string): KeyId => text as KeyId;
export const grantId = (text: string): GrantId => text as GrantId;
export const attemptId = (text: string): AttemptId => text as AttemptId;
export const paymentId = (text: string): PaymentId => text as PaymentId;
/**
 * What a payment bought is granted under the first; under the second where an operator has granted by hand under that one, as
 * could be done before.
 */
export const grantsOfPayment = (paid: PaymentId): readonly [GrantId, GrantId] => [
  grantId(OF_PAYMENT + paid),
  grantId(`${OF_PAYMENT}~${paid}`),
];
/** Of a grant that stands behind a payment, in its append: whether that has bought it. */
export const isBoughtBy = (paid: PaymentId, granted: GrantId): boolean => grantsOfPayment(paid).includes(granted);
/** How the id of a grant begins that a payment has, or may have. */
export const OF_PAYMENT = 'payment_';
/** Whether a grant's id does. Which grant a payment has bought stands in its events. */
export const namesPayment = (id: string): boolean => id.startsWith(OF_PAYMENT);
export const requestId = (text: string): RequestId => text as RequestId;
export const leaseId = (text: string): LeaseId => text as LeaseId;
export const proxyId = (text: string): ProxyId => text as ProxyId;
export const commandId = (text: string): CommandId => text as CommandId;
export const ledgerId = (text: string): LedgerId => text as LedgerId;
export const eventId = (text: string): EventId => text as EventId;
export const revision = (value: number): Revision => value as Revision;
export const position = (value: number): Position => value as Position;

/** What an account id looks like; also what may stand in a stream name. */
export const ACCOUNT_ID_PATTERN = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export const CATALOG_STREAM = 'catalog' as StreamName;
/** Which ledger this is, its generation, and the losses that were accepted. */
export const LEDGER_STREAM = 'ledger' as StreamName;
/** What fixes the events of all other streams (seal-events.ts). */
export const SEALS_STREAM = 'seals' as StreamName;
/** Where a log says that a ledger is being copied to it (ledger/copy/); nothing of the ledger. */
export const COPY_STREAM = 'copy' as StreamName;
/** Where the relay of a feed keeps its claim and its checkpoint. */
export const relayStream = (feed: string): StreamName => `relay-${feed}` as StreamName;
/** Where a proxy claims its name. */
export const proxyStream = (id: ProxyId): StreamName => `proxy-${id}` as StreamName;
/** What comparisons with a provider's usage reports have shown. */
export const reconciliationStream = (provider: string): StreamName => `reconciliation-${provider}` as StreamName;
/** Where a proxy has the log's server stamp an event, to compare clocks by; nothing of the ledger. */
export const clockStream = (id: ProxyId): StreamName => `clock-${id}` as StreamName;
export const accountStream = (id: AccountId): StreamName => `account-${id}` as StreamName;

const ACCOUNT_STREAM_PREFIX = 'account-';

/** The categories of the ledger's own streams: what is not of one of them is somebody else's. */
export const LEDGER_CATEGORIES = ['account', 'catalog', 'relay', 'proxy', 'ledger', 'reconciliation', 'seals'] as const;
export type LedgerCategory = (typeof LEDGER_CATEGORIES)[number];

/** The account that a stream belongs to; null when it is not an account's stream. */
export function accountOfStream(stream: StreamName): AccountId | null {
  return stream.startsWith(ACCOUNT_STREAM_PREFIX) ? accountId(stream.slice(ACCOUNT_STREAM_PREFIX.length)) : null;
}

/** A UUIDv7 (RFC 9562, section 5.7): 48 bits of milliseconds, then the 10 random bytes that are given. */
export function uuidV7(nowMs: number, random: Uint8Array): string {
  const hex = Buffer.from(random.buffer, random.byteOffset, 10).toString('hex');
  const time = nowMs.toString(16).padStart(12, '0');
  const variant = (0x8 | (Number.parseInt(hex[3] ?? '0', 16) & 0x3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
}

/** When it was made: its first 48 bits are milliseconds since 1970. */
export const timeOfRequest = (id: RequestId): number => Number.parseInt(id.slice(4, 16), 16);

/** The command that settles a request carries the request's own UUID: settling it twice is the same command. */
export function commandOfRequest(id: RequestId): CommandId {
  const hex = id.slice(4);
  return commandId(`${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`);
}

/** Usage that finds its request recorded already is another command, and the same each time, too. */
export function commandOfLateUsage(id: RequestId): CommandId {
  const command = commandOfRequest(id);
  const turned = (Number.parseInt(command.charAt(24), 16) ^ 0x8).toString(16);
  return commandId(command.slice(0, 24) + turned + command.slice(25));
}

const EVENTS_PER_COMMAND_MAX = 0x1_0000;

/**
 * The id of a command's index-th event: the command's UUIDv7 with the index added to its last 16 bits (modulo 2^16).
 * Deterministic, so that a retried append is recognised; sorted by time, because random ids halve the log's speed.
 */
export function eventIdOf(command: CommandId, index: number): EventId {
  if (index < 0 || index >= EVENTS_PER_COMMAND_MAX) throw new RangeError(`a command has no ${index}th event`);
  const last = (Number.parseInt(command.slice(-4), 16) + index) & 0xffff;
  return eventId(command.slice(0, -4) + last.toString(16).padStart(4, '0'));
}

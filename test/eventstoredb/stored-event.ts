/** An event as a client proposes it, before it has a place. Data and metadata are bytes; the store never parses them. */
export interface ProposedRecord {
  readonly id: string;
  readonly type: string;
  /** `application/json` or `application/octet-stream`. */
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

export interface StoredEvent extends ProposedRecord {
  readonly stream: string;
  readonly revision: number;
  /** Where the event begins in the log: growing, with gaps as wide as the events. Commit and prepare are both this. */
  readonly position: number;
  readonly createdMs: number;
}

/** The type of the event that ends a stream for ever. Its revision on the wire is the greatest 64-bit integer. */
export const TOMBSTONE_TYPE = '$streamDeleted';

/** The length of an event as the server counts it against its limits: types are UTF-16 there. */
export function sizeOf(event: ProposedRecord): number {
  return event.data.length + event.metadata.length + 2 * event.type.length;
}

/** An event's data as text, for assertions. */
export const textOf = (event: ProposedRecord): string => Buffer.from(event.data).toString('utf8');

/** The stream that holds a stream's metadata ($maxAge, $maxCount, $tb). */
export const metastreamOf = (stream: string): string => `$$${stream}`;

import type { StoredEvent } from './stored-event.ts';

/** $tb of a stream that was deleted softly. */
export const DELETED_SOFTLY = 9_223_372_036_854_775_807n;

/** The part of a stream's metadata that hides events from reads of the stream. */
interface StreamMetadata {
  readonly truncateBefore: number;
  readonly maxCount: number;
  readonly maxAgeSeconds: number;
  readonly deletedSoftly: boolean;
}

const HIDES_NOTHING: StreamMetadata = {
  truncateBefore: 0,
  maxCount: Number.POSITIVE_INFINITY,
  maxAgeSeconds: Number.POSITIVE_INFINITY,
  deletedSoftly: false,
};

export class StoredStream {
  /** The event at revision n is at index n: an append-only stream has no gaps. */
  readonly events: StoredEvent[] = [];
  metadata: StreamMetadata = HIDES_NOTHING;
  tombstoned = false;
  /** Revisions of what was destroyed, whatever the metadata says since. */
  readonly scavenged = new Set<number>();

  /** -1 where there is none. */
  get lastRevision(): number {
    return this.events.length - 1;
  }

  /** The first revision that a read of the stream may show, counted before $maxAge. */
  get firstRevision(): number {
    const { truncateBefore, maxCount, deletedSoftly } = this.metadata;
    if (deletedSoftly) return this.events.length;
    return Math.min(this.events.length, Math.max(truncateBefore, this.events.length - maxCount));
  }

  /** Destroyed, or older than $maxAge. */
  isGone(event: StoredEvent, nowMs: number): boolean {
    return this.scavenged.has(event.revision) || nowMs - event.createdMs >= this.metadata.maxAgeSeconds * 1_000;
  }
}

/** Parses the data of a `$metadata` event; what cannot be parsed hides nothing, as in the server. */
export function parseStreamMetadata(data: Uint8Array): StreamMetadata {
  let parsed: unknown;
  // JSON numbers of $tb may exceed what a double holds exactly, hence the search in the text.
  const text = Buffer.from(data).toString('utf8');
  try {
    parsed = JSON.parse(text);
  } catch {
    return HIDES_NOTHING;
  }
  if (typeof parsed !== 'object' || parsed === null) return HIDES_NOTHING;
  const number = (key: string, otherwise: number): number => {
    const value: unknown = Reflect.get(parsed, key);
    return typeof value === 'number' && value >= 0 ? value : otherwise;
  };
  const truncateBefore = number('$tb', 0);
  return {
    truncateBefore,
    maxCount: number('$maxCount', Number.POSITIVE_INFINITY),
    maxAgeSeconds: number('$maxAge', Number.POSITIVE_INFINITY),
    deletedSoftly: truncateBefore >= Number(DELETED_SOFTLY),
  };
}

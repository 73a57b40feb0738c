import type { StreamName } from '../../../contracts/ids.ts';
import { jsonOf } from '../../../contracts/json-object.ts';
import type { WireEvent } from './decode-read-response.ts';
import type { OwnStreams } from './own-streams.ts';

/** What the server leaves behind where a stream was deleted for ever. */
export const TOMBSTONE_TYPE = '$streamDeleted';
/** The stream that has a stream's metadata, and the type of what is in it. */
export const metadataStream = (stream: string): string => `$$${stream}`;
export const METADATA_TYPE = '$metadata';

/** `$tb` of a stream that was deleted softly is 2^63 - 1, of which a number of ours has the first digits. */
const DELETED_SOFTLY = 2 ** 62;
const HIDING = ['$maxAge', '$maxCount', '$tb'] as const;

/** Why metadata hides events of a stream (the next scavenge destroys them), with what to do; null where none. */
export function whyHidden(stream: string, metadata: string): string | null {
  const parsed = parse(metadata);
  if (parsed === null) return null;
  if (Number(parsed.$tb) >= DELETED_SOFTLY)
    return `${stream} was deleted in EventStoreDB: take $tb out of its metadata before the next scavenge destroys its events`;
  const found = HIDING.filter((name) => Object.hasOwn(parsed, name) && parsed[name] !== 0);
  if (found.length === 0) return null;
  return `${stream} has ${found.join(' and ')} in its metadata in EventStoreDB, which hides and destroys events: remove it before the next scavenge`;
}

/** The stream of the ledger that metadata or a tombstone is of, and whether that may hide it; null where it is another's. */
export function saidBeside(
  event: WireEvent,
  streams: OwnStreams,
): { readonly stream: StreamName; readonly isSuspect: boolean } | null {
  const onServer = event.stream.replace(/^\$\$/, '');
  const stream = streams.nameOf(onServer);
  if (stream === null) return null;
  const isSuspect = event.type === TOMBSTONE_TYPE || whyHidden(onServer, event.data.toString('utf8')) !== null;
  return { stream, isSuspect };
}

export const whyTombstoned = (stream: string): string =>
  `${stream} was deleted for ever (tombstoned) in EventStoreDB: only a backup has its events`;

/** What is no object hides nothing, as in the server. */
function parse(text: string): Record<string, unknown> | null {
  const value = jsonOf(text);
  return typeof value === 'object' && value !== null ? { ...value } : null;
}

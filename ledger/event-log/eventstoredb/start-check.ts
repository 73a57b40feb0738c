import { randomUUID } from 'node:crypto';
import { EventLogError, type RecordedEvent } from '../../../contracts/event-log.ts';
import { CATALOG_STREAM, eventId, revision, type StreamName } from '../../../contracts/ids.ts';
import type { Append, AppendAnswer } from './append-call.ts';
import { faultOf } from './fault.ts';
import { EVENTSTOREDB_LIMITS } from './limits.ts';

/** What the check asks of the log, beyond the port. */
export interface CheckedLog {
  append(one: Append): Promise<AppendAnswer>;
  /** The ledger's own events, the newest first. */
  newestEvents(): AsyncIterable<RecordedEvent>;
  /** The text of a stream's metadata; null where it has none. */
  streamMetadata(stream: StreamName): Promise<string | null>;
}

/** No stream ever has so many events: an append that expects it is refused, and leaves nothing behind. */
const UNREACHED = revision(2 ** 50);
const HIDING = ['$maxAge', '$maxCount', '$tb'] as const;

/**
 * Whether the log may be used: one line for each thing to mend, none when all is well.
 * @throws EventLogError `unavailable` when the server is away or does not answer
 */
export async function checkLog(log: CheckedLog): Promise<readonly string[]> {
  const faults: string[] = [];
  const mayAppend = await isAllowed(log.append({ stream: CATALOG_STREAM, expected: UNREACHED, events: [probe()] }));
  if (!mayAppend)
    faults.push(
      'EventStoreDB: the user may not append: give it write access to account-, catalog, seals, relay-, proxy-, clock- and ledger streams',
    );
  const streams = new Set<StreamName>([CATALOG_STREAM, 'seals' as StreamName]);
  if (!(await isAllowed(collectNewest(log, streams))))
    faults.push(
      'EventStoreDB: the user may not read $all: give it read access in the ACL of $all (by default only $admins have it)',
    );
  for (const stream of streams) {
    const fault = await hidingFault(log, stream);
    if (fault !== null) faults.push(fault);
  }
  return faults;
}

async function collectNewest(log: CheckedLog, streams: Set<StreamName>): Promise<void> {
  let looked = 0;
  for await (const { stream } of log.newestEvents()) {
    streams.add(stream);
    if (++looked >= EVENTSTOREDB_LIMITS.checkedEventsMax || streams.size >= EVENTSTOREDB_LIMITS.checkedStreamsMax)
      return;
  }
}

/** Hidden events are destroyed by the next scavenge, and with them what somebody was billed for. */
async function hidingFault(log: CheckedLog, stream: StreamName): Promise<string | null> {
  const reading = log.streamMetadata(stream);
  if (!(await isAllowed(reading)))
    return `EventStoreDB: the user may not read the metadata of ${stream}: give it read access to $$${stream}`;
  const metadata = parsed((await reading) ?? '{}');
  if (typeof metadata !== 'object' || metadata === null) return null;
  const found = HIDING.filter((name) => Object.hasOwn(metadata, name));
  if (found.length === 0) return null;
  return `EventStoreDB: ${stream} has ${found.join(' and ')} in its metadata, which hides and destroys events: remove it before the next scavenge`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new EventLogError('invalid', "a stream's metadata in EventStoreDB is not JSON", { cause });
  }
}

async function isAllowed(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (isAccessDenied(error)) return false;
    throw error;
  }
}

function isAccessDenied(error: unknown): boolean {
  if (faultOf(error).isAccessDenied) return true;
  return error instanceof EventLogError && error.cause !== undefined && isAccessDenied(error.cause);
}

const probe = () => ({ id: eventId(randomUUID()), type: 'StartCheck', data: '{}', metadata: '{}' });

import { REQUEST_ID_PATTERN } from '../../contracts/event-fields.ts';
import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import {
  type AccountId,
  accountOfStream,
  accountStream,
  type Position,
  position,
  type RequestId,
  requestId,
  timeOfRequest,
} from '../../contracts/ids.ts';
import { isObject, jsonOf } from '../../contracts/json-object.ts';
import { recordedAtOf } from './stream-range.ts';

interface FoundRequest {
  readonly accountId: AccountId;
  readonly requestId: RequestId;
}

interface Search {
  /** Whose events alone are looked through; null is everybody's. */
  readonly account: AccountId | null;
  /** Positions of the log are 1, 2, 3, …: an event of about some time is found without those before it. */
  readonly hasOrdinals: boolean;
}

/**
 * The requests that an id names: our own, of which there is one, or the provider's.
 *
 * Our own id begins with the time at which the request began, and its usage is written down later than that. Where positions
 * are ordinals that time is looked up by halving (some twenty reads), and what was written from then on is looked through;
 * what stands before it only where it was not found, because a clock was wrong. In other logs, and for a provider's id,
 * every event is looked at.
 */
export async function findRequests(log: ReadableLog, id: string, search: Search): Promise<readonly FoundRequest[]> {
  const isOwn = REQUEST_ID_PATTERN.test(id);
  const found = new Map<RequestId, FoundRequest>();
  const lookThrough = async (events: AsyncIterable<RecordedEvent>, upTo: Position | null = null): Promise<void> => {
    for await (const recorded of events) {
      if (upTo !== null && recorded.position > upTo) return;
      const named = requestNamedBy(recorded, id);
      const accountId = accountOfStream(recorded.stream);
      if (named === null || accountId === null) continue;
      found.set(named, { accountId, requestId: named });
      if (isOwn && named === id) return;
    }
  };
  if (search.account !== null) {
    await lookThrough(log.readStream(accountStream(search.account)));
  } else {
    const start =
      isOwn && search.hasOrdinals ? await lastBefore(log, timeOfRequest(requestId(id)) - CLOCKS_DIFFER_MS) : null;
    // A server leaves out what is no account's; the embedded log is quicker without being asked.
    const category = search.hasOrdinals ? {} : ({ category: 'account' } as const);
    await lookThrough(log.readAll({ after: start, ...category }));
    if (start !== null && found.size === 0) await lookThrough(log.readAll(), start);
  }
  return [...found.values()];
}

/** By how much, at the most, clocks that events are written by are taken to differ. */
const CLOCKS_DIFFER_MS = 15 * 60_000;

/** A position before which everything was written before an instant; null is the beginning. */
async function lastBefore(log: ReadableLog, atMs: number): Promise<Position | null> {
  let before = 0;
  let from: number = (await log.headPosition()) ?? 0;
  while (from - before > 1) {
    const middle = Math.floor((before + from) / 2);
    if (await isBefore(log, middle, atMs)) before = middle;
    else from = middle;
  }
  return before === 0 ? null : position(before);
}

async function isBefore(log: ReadableLog, at: number, atMs: number): Promise<boolean> {
  for await (const recorded of log.readAll({ after: position(at - 1), limit: 1 })) {
    const recordedAt = recordedAtOf(recorded);
    return recordedAt !== null && Date.parse(recordedAt) < atMs;
  }
  return false;
}

const USAGES: ReadonlySet<string> = new Set(['UsageRecorded', 'LateUsageReported']);

/** The request of a usage that has the id as its own or its provider's; null of any other event. */
function requestNamedBy({ type, data }: RecordedEvent, id: string): RequestId | null {
  // Most events do not have the text in them at all.
  if (!USAGES.has(type) || !data.includes(JSON.stringify(id))) return null;
  const stored = jsonOf(data);
  if (!isObject(stored) || typeof stored.requestId !== 'string') return null;
  const usage = isObject(stored.usage) ? stored.usage : stored;
  const isNamed = stored.requestId === id || (isObject(usage.upstream) && usage.upstream.requestId === id);
  return isNamed ? requestId(stored.requestId) : null;
}

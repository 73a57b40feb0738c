import type { EventLog } from '../../contracts/event-log.ts';
import type { RequestId } from '../../contracts/ids.ts';
import { openJournal } from '../journal/open-journal.ts';
import { type JournalRequest, readAllRequests } from '../journal/read-all-requests.ts';
import { reconcileRecovered } from '../settlement/recover-requests.ts';

interface JournalRefill {
  /** Journals that are only read. */
  readonly from: readonly string[];
  /** The journal that gets what the ledger lacks. */
  readonly to: string;
  readonly bytesMax: number;
  readonly log: EventLog;
  readonly nowMs: number;
}

/**
 * Requests of other journals that a ledger lacks, also those that they had handed over to it, in its own journal: whoever
 * serves from it settles them. @returns how many @throws JournalError, JournalFull; EventLogError; Error when a text is not of its form
 */
export async function refillJournal({ from, to, bytesMax, log, nowMs }: JournalRefill): Promise<number> {
  const found = new Map<RequestId, JournalRequest>();
  for (const request of from.flatMap(readAllRequests))
    if (found.get(request.requestId)?.finished == null) found.set(request.requestId, request);
  const all = [...found.values()];
  // They may stand anywhere in a ledger that was put back.
  const { unsettled, untold } = await reconcileRecovered(log, all, nowMs, undefined, new Set(found.keys()));
  const lacking = new Set(unsettled.map(({ usage }) => usage.requestId));
  const isUntold = ({ start }: JournalRequest): boolean => untold.has(JSON.parse(start).accountId);
  return addTo(
    to,
    bytesMax,
    all.filter((request) => lacking.has(request.requestId) || isUntold(request)),
  );
}

async function addTo(directory: string, bytesMax: number, requests: readonly JournalRequest[]): Promise<number> {
  const { journal, recovered } = await openJournal({ directory, bytesMax });
  try {
    const own = new Map(recovered.map((request) => [request.requestId, request]));
    let added = 0;
    for (const { requestId, start, finished } of requests) {
      const known = own.get(requestId);
      if (known !== undefined && (known.finished !== null || finished === null)) continue;
      if (known === undefined) journal.begin(requestId, start);
      if (finished !== null) journal.finish(requestId, finished);
      added += 1;
    }
    await journal.durable();
    return added;
  } finally {
    await journal.close();
  }
}

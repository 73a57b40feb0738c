import { type EventLog, type ReadableLog, unlessHidden } from '../../contracts/event-log.ts';
import { type AccountId, accountStream, type RequestId } from '../../contracts/ids.ts';
import { loadCatalog, rateCardOf } from '../catalog/catalog-state.ts';
import type { RecoveredRequest } from '../journal/journal.ts';
import { readRecovered } from '../settlement/read-recovered.ts';

/** A request that the journal holds and the ledger cannot take: what it names was lost. */
export interface UnsettleableRequest {
  readonly request: RecoveredRequest;
  readonly requestId: RequestId;
  readonly accountId: AccountId;
  readonly cause: string;
}

/** @throws EventLogError; Error when a journal text is not of its form */
export async function findUnsettleable(
  log: EventLog,
  recovered: readonly RecoveredRequest[],
  nowMs: number,
): Promise<UnsettleableRequest[]> {
  if (recovered.length === 0) return [];
  const catalog = await loadCatalog(log);
  const found: UnsettleableRequest[] = [];
  const isThere = new Map<AccountId, boolean>();
  for (const request of recovered) {
    const { started, usage } = readRecovered(request, nowMs);
    const { accountId } = started;
    // An account of which the log's server hides events is no lost one.
    if (!isThere.has(accountId)) isThere.set(accountId, await unlessHidden(hasEvents(log, accountId), true));
    const cause =
      isThere.get(accountId) === false
        ? 'the ledger has no such account'
        : rateCardOf(catalog, usage.rateCard) === null
          ? `the ledger has no version ${usage.rateCard.version} of the prices of ${usage.rateCard.id}`
          : null;
    if (cause !== null) found.push({ request, requestId: usage.requestId, accountId, cause });
  }
  return found;
}

export async function hasEvents(log: ReadableLog, accountId: AccountId): Promise<boolean> {
  for await (const _event of log.readStream(accountStream(accountId), { limit: 1 })) return true;
  return false;
}

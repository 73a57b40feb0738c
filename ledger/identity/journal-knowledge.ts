import { accountStream, type RequestId } from '../../contracts/ids.ts';
import type { RecoveredRequest } from '../journal/journal.ts';
import { readRecovered } from '../settlement/read-recovered.ts';
import type { KnownEvent, LedgerKnowledge } from './known-ledger.ts';

/**
 * What the journal's requests know: the revision that each one's account had when it began.
 * @param earlier those that began in an earlier generation, which know nothing of this one
 * @throws as `readRecovered`
 */
export function knowledgeOfJournal(
  recovered: readonly RecoveredRequest[],
  earlier: ReadonlySet<RequestId>,
  nowMs: number,
): LedgerKnowledge {
  const events = recovered.flatMap((request): KnownEvent[] => {
    if (earlier.has(request.requestId)) return [];
    const { accountId, accountRevision } = readRecovered(request, nowMs).started;
    return accountRevision < 0 ? [] : [{ stream: accountStream(accountId), revision: accountRevision, id: null }];
  });
  return { source: 'the journal', identity: null, events };
}

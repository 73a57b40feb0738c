import type { DebitData, UsageData } from '../../../ledger/audit/stored-event.ts';
import type { SentRequest } from '../post-planned.ts';
import type { RecordedRequest } from './upstream-record.ts';

interface BilledEvidence {
  readonly sent: readonly SentRequest[];
  readonly seen: readonly RecordedRequest[];
  /** Of all accounts. */
  readonly usages: readonly UsageData[];
  /** Of all accounts. */
  readonly debits: readonly DebitData[];
}

/** How often each request that the upstream saw was recorded. */
export interface BilledCounts {
  readonly once: number;
  /** Not at all. */
  readonly lost: number;
  /** Recorded more than once, or debited more than once. */
  readonly twice: number;
}

/** By the key and the model, which were used together by one request only. */
export function countBilled({ sent, seen, usages, debits }: BilledEvidence): BilledCounts {
  const usagesOf = Map.groupBy(usages, ({ keyId, model }) => `${keyId} ${model}`);
  const debitsOf = Map.groupBy(debits, ({ requestId }) => requestId);
  const sentOf = new Map(sent.map((request) => [request.planned.id, request]));
  const counts = { once: 0, lost: 0, twice: 0 };
  for (const id of new Set(seen.map((request) => request.id))) {
    const request = sentOf.get(id);
    const recorded = usagesOf.get(`${request?.keyId} ${request?.planned.model}`) ?? [];
    const [usage] = recorded;
    if (usage === undefined) counts.lost++;
    else if (recorded.length > 1 || (debitsOf.get(usage.requestId)?.length ?? 0) > 1) counts.twice++;
    else counts.once++;
  }
  return counts;
}

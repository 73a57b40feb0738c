import type { DebitData, UsageData } from '../../../ledger/audit/stored-event.ts';
import type { ModelPrices } from '../crash-catalog.ts';
import type { SentRequest } from '../post-planned.ts';
import { auditCase } from './audit-cases.ts';
import { auditEnding } from './audit-ending.ts';
import type { RecordedRequest } from './upstream-record.ts';

export interface RequestEvidence {
  readonly sent: readonly SentRequest[];
  readonly seen: readonly RecordedRequest[];
  /** Of all accounts. */
  readonly usages: readonly UsageData[];
  /** Of all accounts. */
  readonly debits: readonly DebitData[];
  /** Usage that came after its request had been recorded as `recovered`. */
  readonly late?: readonly UsageData[];
  readonly prices: ReadonlyMap<string, ModelPrices>;
  readonly killsMs: readonly number[];
  /** Whether a refusal for want of money, rights or a known key was to be expected. Default: never. */
  readonly mayRefuse?: (request: SentRequest) => boolean;
  /**
   * Asked of a request that the upstream saw and the ledger did not record: whether its gateway's journal is lost.
   * Default: none is.
   */
  readonly mayBeUnrecorded?: (request: SentRequest) => boolean;
}

/** Refusals that no request of the run has earned. */
const UNEARNED = new Set(['authentication_error', 'billing_error', 'permission_error']);

/**
 * Joins what the clients sent, what the upstream saw and what the ledger recorded. A key and a model together were used
 * by one request only, so the join holds even where the gateway died before any answer.
 */
export function auditRequests(evidence: RequestEvidence): string[] {
  const { sent, seen, usages, debits, prices, killsMs } = evidence;
  const { mayRefuse = never, mayBeUnrecorded = never, late = [] } = evidence;
  const faults: string[] = [];
  const usagesOf = Map.groupBy(usages, slotOf);
  const seenOf = Map.groupBy(seen, ({ id }) => id);
  const lateOf = new Map(late.map((usage) => [usage.requestId, usage]));
  const debitOf = new Map(debits.map((debit) => [debit.requestId, debit]));
  for (const request of sent) {
    const { planned } = request;
    const slot = slotOf({ keyId: request.keyId, model: planned.model });
    const recorded = usagesOf.get(slot) ?? [];
    usagesOf.delete(slot);
    const atUpstream = seenOf.get(planned.id) ?? [];
    seenOf.delete(planned.id);
    if (isUnearned(request) && !mayRefuse(request))
      faults.push(`${planned.id}: refused with ${request.status} ${request.errorType}`);
    const [usage] = recorded;
    const [first] = atUpstream;
    if (recorded.length > 1) faults.push(`${planned.id}: ${recorded.length} UsageRecorded`);
    if (atUpstream.length > 1) faults.push(`${planned.id}: reached the upstream ${atUpstream.length} times`);
    if (first === undefined) faults.push(...auditUnseen(request, usage));
    else if (usage === undefined) {
      if (!mayBeUnrecorded(request)) faults.push(`${planned.id}: the upstream saw it, and no UsageRecorded is there`);
    } else {
      const card = prices.get(planned.model);
      if (card === undefined) faults.push(`${planned.id}: model ${planned.model} has no price`);
      else {
        const evidence = { seen: first, sent: request, prices: card, killsMs };
        const told = lateOf.get(usage.requestId);
        // Told late, its end is known all the same: it is judged by that.
        faults.push(...auditEnding({ ...evidence, usage: told ?? usage }));
        const debit = debitOf.get(usage.requestId) ?? null;
        faults.push(...auditCase({ seen: first, sent: request, usage, debit, prices: card }));
      }
    }
  }
  for (const usage of [...usagesOf.values()].flat()) faults.push(`${usage.requestId}: recorded, and nobody sent it`);
  for (const id of seenOf.keys()) faults.push(`${id}: the upstream saw it, and nobody sent it`);
  return faults;
}

/** A request is refused as invalid where it asks for what has no price, or where its upstream said so. */
function isUnearned({ errorType, planned }: SentRequest): boolean {
  if (errorType === null) return false;
  if (errorType !== 'invalid_request_error') return UNEARNED.has(errorType);
  return planned.case !== 'server-tools' && planned.script.ending !== 'status-400';
}

/** What never reached the upstream is not charged, and no client can have an answer from it. */
function auditUnseen({ planned, heard }: SentRequest, usage: UsageData | undefined): string[] {
  const faults = heard === 'complete' ? [`${planned.id}: answered, and the upstream never saw it`] : [];
  if (usage === undefined) return faults;
  if (usage.billable) faults.push(`${planned.id}: charged, and the upstream never saw it`);
  if (usage.outcome !== 'recovered' && usage.outcome !== 'upstream_refused')
    faults.push(`${planned.id}: recorded as ${usage.outcome}, and the upstream never saw it`);
  return faults;
}

const never = (): boolean => false;

const slotOf = ({ keyId, model }: { readonly keyId: string; readonly model: string }): string => `${keyId} ${model}`;

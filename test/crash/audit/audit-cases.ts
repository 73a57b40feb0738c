import type { DebitData, UsageData } from '../../../ledger/audit/stored-event.ts';
import type { ModelPrices } from '../crash-catalog.ts';
import { LISTED_BETA, LONG_WINDOW_BETA } from '../planned-cases.ts';
import type { SentRequest } from '../post-planned.ts';
import type { RecordedRequest } from './upstream-record.ts';

interface CaseEvidence {
  readonly sent: SentRequest;
  readonly seen: RecordedRequest;
  readonly usage: UsageData;
  /** Null where nothing was debited. */
  readonly debit: DebitData | null;
  readonly prices: ModelPrices;
}

/** What is wrong with what went upstream, with the hold, or with what the record says beside the tokens. */
export function auditCase(evidence: CaseEvidence): string[] {
  const { usage, seen, sent } = evidence;
  const faults = [...auditHeld(evidence), ...auditBetas(evidence), ...auditUses(evidence), ...auditUnpriced(evidence)];
  return faults.map((fault) => `${usage.requestId} (${seen.id}, ${sent.planned.case}): ${fault}`);
}

/** An upstream that keeps its word never reports more than was held; one that does not is paid no more than that. */
function auditHeld({ sent, usage, debit }: CaseEvidence): string[] {
  if (usage.hold === undefined || usage.hold === null) return ['its record has no hold'];
  if (debit === null) return [];
  const leftOut = BigInt(debit.leftOut ?? '0');
  if (BigInt(debit.amount) > BigInt(usage.hold)) return [`is debited ${debit.amount}, above its hold of ${usage.hold}`];
  if (sent.planned.isKeepingWord && leftOut > 0n) return [`its hold of ${usage.hold} is too small by ${leftOut}`];
  return [];
}

/** Only what the catalog lists reaches an upstream. */
function auditBetas({ seen, prices }: CaseEvidence): string[] {
  const allowed = new Set([LISTED_BETA, ...(prices.hasLongWindow ? [LONG_WINDOW_BETA] : [])]);
  return (seen.betas ?? []).filter((beta) => !allowed.has(beta)).map((beta) => `the beta ${beta} went upstream`);
}

/** A use is recorded as often as it was reported; without a price for it the request was to be refused. */
function auditUses({ sent, seen, usage, prices }: CaseEvidence): string[] {
  const reported = seen.script.serverToolUse ?? {};
  const faults = Object.keys(reported)
    .filter((use) => !prices.uses.has(use))
    .map((use) => `went upstream, and its model has no price for ${use}`);
  if (usage.source !== 'reported' || sent.heard !== 'complete') return faults;
  if (textOf(usage.uses ?? {}) !== textOf(reported))
    faults.push(`its uses are ${textOf(usage.uses ?? {})}, should be ${textOf(reported)}`);
  return faults;
}

/** A tier without a price is told, and nothing else is. */
function auditUnpriced({ sent, seen, usage }: CaseEvidence): string[] {
  const isTold = (usage.unpriced ?? []).length > 0;
  const isKnown = KNOWN_TIERS.has(seen.script.serviceTier);
  if (isKnown && isTold) return [`says that ${(usage.unpriced ?? []).join()} has no price`];
  const isSeen = usage.source === 'reported' && sent.heard === 'complete';
  return !isKnown && isSeen && !isTold ? [`does not say that the tier ${seen.script.serviceTier} has no price`] : [];
}

const KNOWN_TIERS = new Set(['standard', 'priority']);

const textOf = (uses: Readonly<Record<string, number>>): string =>
  Object.entries(uses)
    .map(([use, count]) => `${use} ${count}`)
    .toSorted()
    .join(', ') || 'none';

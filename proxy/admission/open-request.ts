import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { LeaseId } from '../../contracts/ids.ts';
import { JournalError } from '../../ledger/journal/journal-error.ts';
import { OUTAGE_RETRY_S } from '../availability.ts';
import type { OpenRequest } from '../request-accounting.ts';
import type { AdmissionParts } from './admission-parts.ts';
import type { Candidate } from './candidate.ts';
import type { MoneyRequest } from './money-gate.ts';

/** Holds a request's worst case and has the journal take it down: from here on it is accounted for, whatever happens. */
export function openRequest(
  { requestId, model, deployments, terms }: Candidate,
  { accountId, keyId, worst, nowMs }: MoneyRequest,
  leaseId: LeaseId | null,
  parts: AdmissionParts,
): OpenRequest | Refusal {
  const [first] = deployments;
  if (first === undefined) throw new Error(`model ${model.id} was admitted without an upstream`);
  const { id, version, hash } = terms.rateCard;
  try {
    return parts.accounting.open(requestId, terms.rateCard, worst.hold, {
      accountId,
      accountRevision: parts.projections.accounts.read(accountId).revision,
      keyId,
      model: model.id,
      upstream: { provider: first.upstream.name, model: first.model },
      startedAt: new Date(nowMs).toISOString(),
      rateCard: { id, version, hash },
      ...(leaseId === null ? {} : { leaseId }),
    });
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    parts.logger.error({ err: error, requestId }, 'the journal refuses requests');
    return (
      parts.availability.refuse() ??
      refusal('gateway_overloaded', 'the gateway cannot take down usage at the moment', OUTAGE_RETRY_S)
    );
  }
}

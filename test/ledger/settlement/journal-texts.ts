import type { UsageRecorded } from '../../../contracts/events.ts';
import type { AccountId, Revision } from '../../../contracts/ids.ts';

/** What the journal holds of a request, as its two texts. */
export function startText(accountId: AccountId, accountRevision: Revision, usage: UsageRecorded): string {
  const { keyId, model, startedAt, rateCard } = usage;
  const upstream = { provider: usage.upstream.provider, model: usage.upstream.model };
  return JSON.stringify({ accountId, accountRevision, keyId, model, upstream, startedAt, rateCard });
}

export function finishedText(accountId: AccountId, accountRevision: Revision, usage: UsageRecorded): string {
  const { upstream, tokens, lane, outcome, source, billable, finishedAt } = usage;
  const ending = { upstream, tokens, lane, outcome, source, billable, finishedAt };
  return `{"started":${startText(accountId, accountRevision, usage)},"ending":${JSON.stringify(ending)}}`;
}

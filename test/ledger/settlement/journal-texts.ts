import type { UsageRecorded } from '../../../contracts/events.ts';
import type { AccountId, Revision } from '../../../contracts/ids.ts';

/** What the journal holds of a request, as its two texts. Without a hold they are as before it was kept. */
export function startText(
  accountId: AccountId,
  accountRevision: Revision,
  usage: UsageRecorded,
  hold?: bigint,
): string {
  const { keyId, model, startedAt, rateCard } = usage;
  const upstream = { provider: usage.upstream.provider, model: usage.upstream.model };
  return JSON.stringify({
    accountId,
    accountRevision,
    keyId,
    model,
    upstream,
    startedAt,
    rateCard,
    hold: hold?.toString(),
  });
}

export function finishedText(
  accountId: AccountId,
  accountRevision: Revision,
  usage: UsageRecorded,
  hold?: bigint,
): string {
  const { upstream, tokens, lane, outcome, source, billable, finishedAt } = usage;
  const ending = { upstream, tokens, lane, outcome, source, billable, finishedAt };
  return `{"started":${startText(accountId, accountRevision, usage, hold)},"ending":${JSON.stringify(ending)}}`;
}

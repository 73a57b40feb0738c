import type { Revision, StreamName } from '../../../contracts/ids.ts';
import { AccountAudit } from '../../../ledger/audit/account-audit.ts';
import { Reversals } from '../../../ledger/audit/audit-reversals.ts';
import { isUsableAt } from '../../../ledger/audit/burn-own.ts';
import { describeFault, type Fault } from '../../../ledger/audit/fault.ts';
import type { AccountBooks as OwnBooks } from '../../../ledger/audit/own-account.ts';
import type { DebitData, LateData, StoredEvent, UsageData } from '../../../ledger/audit/stored-event.ts';
import type { ModelPrices } from '../crash-catalog.ts';
import { debitsIn, usagesIn } from './stored-lines.ts';

/** What the product's auditor counts, and what else a run compares: each request, and what its faults are in words. */
export interface AccountBooks extends Omit<OwnBooks, 'faults'> {
  readonly faults: readonly string[];
  readonly usages: readonly UsageData[];
  readonly debits: readonly DebitData[];
  /** Usage that was reported after its request had been recorded as `recovered`. */
  readonly late: readonly UsageData[];
}

/** The auditor over an account's events, by the prices that the run itself wrote into its catalog. */
export function accountBooks(
  accountId: string,
  events: readonly StoredEvent[],
  prices: ReadonlyMap<string, ModelPrices>,
  /** Where a loss was accepted: what rests on the lost part. */
  lost: { readonly isOfLost?: (startedAt: string) => boolean } = {},
): AccountBooks {
  const cardOf = ({ model }: { readonly model: string }) => prices.get(model) ?? `model ${model} is in no catalog`;
  const audit = new AccountAudit(accountId, cardOf, lost);
  for (const event of events) audit.take(event);
  audit.end();
  const reversed: Fault[] = [];
  const reversals = new Reversals(
    audit.books.reversals.map((one) => ({ ...one, stream: 'account' })),
    (fault) => reversed.push(fault),
  );
  for (const { type, revision, data } of events)
    reversals.take({
      stream: 'account' as StreamName,
      type,
      revision: revision as Revision,
      data: JSON.stringify(data),
    });
  reversals.end();
  const [usages, debits] = [usagesIn(events), debitsIn(events)];
  const faults = [
    ...[...audit.books.faults, ...reversed].map(describeFault),
    ...twice(
      events.map(({ id }) => id),
      (id) => `event id ${id} stands twice`,
    ),
    ...timesOf('usage', usages),
    ...timesOf('debit', debits),
    // Nothing of a run lets an account spend what it does not have.
    ...debits.flatMap(({ requestId, balanceAfter }) =>
      balanceAfter.startsWith('-') ? [`${requestId}: the balance falls to ${balanceAfter}`] : [],
    ),
  ];
  const late = events.flatMap(({ type, data }) => (type === 'LateUsageReported' ? [(data as LateData).usage] : []));
  return { ...audit.books, faults, usages, debits, late };
}

const timesOf = (name: string, all: readonly { readonly requestId: string }[]): string[] =>
  twice(
    all.map(({ requestId }) => requestId),
    (requestId, times) => `${requestId}: ${times} ${name} events`,
  );

function twice(all: readonly string[], told: (one: string, times: number) => string): string[] {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].flatMap(([one, times]) => (times > 1 ? [told(one, times)] : []));
}

/** What can be spent at an instant: what usable grants hold, less what is owed. */
export const availableOf = ({ grants, uncovered }: AccountBooks, atMs: number): bigint =>
  grants.reduce((sum, grant) => (isUsableAt(grant, atMs) ? sum + grant.remaining : sum), -uncovered);

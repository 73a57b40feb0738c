import type { EventLog } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import type { AccountId } from '../../contracts/ids.ts';
import type { RateCard } from '../../contracts/rate-card.ts';
import type { AccountState } from '../../ledger/account/account-state.ts';
import { decide } from '../../ledger/account/decide.ts';
import { evolve } from '../../ledger/account/evolve.ts';
import { loadCatalog, rateCardOf } from '../../ledger/catalog/catalog-state.ts';
import type { RecoveredRequest } from '../../ledger/journal/journal.ts';
import { commandOf } from '../../ledger/settlement/pending-request.ts';
import { reconcileRecovered, type UnsettledRequest } from '../../ledger/settlement/recover-requests.ts';

/** A request that a journal holds and the ledger has not, with the card that it is billed by. */
type Settling = UnsettledRequest & { readonly card: RateCard };

/** By account, what a gateway settles from its journal at its next start, without anybody. */
export type SettlesByItself = ReadonlyMap<AccountId, readonly Settling[]>;

/** @param recovered those that the ledger can take, of whatever generation they are. @throws EventLogError; Error when a journal text is not of its form */
export async function findSettling(
  log: EventLog,
  recovered: readonly RecoveredRequest[],
  nowMs: number,
): Promise<SettlesByItself> {
  if (recovered.length === 0) return new Map();
  const catalog = await loadCatalog(log);
  const all = new Set(recovered.map(({ requestId }) => requestId));
  const { unsettled } = await reconcileRecovered(log, recovered, nowMs, undefined, all);
  const settling = unsettled.flatMap((request) => {
    const card = rateCardOf(catalog, request.usage.rateCard);
    return card === null ? [] : [{ ...request, card }];
  });
  return Map.groupBy(settling, ({ accountId }) => accountId);
}

/** An account as it is once they are settled. */
export const whenSettled = (state: AccountState, settling: readonly Settling[]): AccountState =>
  settling.reduce((before, one) => eventsOf(before, one).reduce(evolve, before), state);

function eventsOf(state: AccountState, settling: Settling): AccountEvent[] {
  const decided = decide(commandOf(settling), state);
  return 'type' in decided ? [] : decided;
}

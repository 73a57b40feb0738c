import type { Logger } from 'pino';
import type { AccountId, RequestId } from '../contracts/ids.ts';
import { formatUsd } from '../contracts/money.ts';
import type { AccountBook } from '../ledger/account/account-book.ts';
import { amountOfException, openException, reasonsOf } from '../ledger/account/exceptions.ts';
import { Settlement } from '../ledger/settlement/settlement.ts';
import type { Holds } from './admission/holds.ts';
import type { Availability } from './availability.ts';
import { JournalForgetting } from './journal-forgetting.ts';
import type { OpenedGateway } from './open-gateway.ts';

export interface GatewaySettlementParts {
  readonly opened: OpenedGateway;
  readonly holds: Holds;
  readonly availability: Availability;
  /** Whether a request is under way in this process, and not what an earlier one has left. */
  readonly isUnderWay: (requestId: RequestId) => boolean;
  /** Told for each request that is settled: from its end to its usage in the ledger, in milliseconds. */
  readonly onSettledAfter: (latencyMs: number) => void;
}

/** The settlement of a gateway, which frees what was held and lets the journal forget. */
export function gatewaySettlement(parts: GatewaySettlementParts): Settlement {
  const { opened, holds, availability, isUnderWay, onSettledAfter } = parts;
  const { options, journal, projections, ledgerWatch } = opened;
  const { log, logger, clock } = options;
  const forgetting = new JournalForgetting({ journal, projections, logger });
  const settlement: Settlement = new Settlement({
    log,
    book: projections.accounts,
    clock,
    waitsForEarlier: ledgerWatch.left.settleable.length > 0,
    isUnderWay,
    onSettled: (accountId, { requestId, finishedAt }) => {
      holds.release(requestId);
      forgetting.add(requestId);
      onSettledAfter(clock() - Date.parse(finishedAt));
      tellException(projections.accounts, accountId, requestId, logger);
    },
    onStuck: (requestId, error) => {
      availability.cannotSettle(requestId);
      logger.fatal({ err: error, requestId }, 'a request cannot be settled; the journal keeps it');
    },
    onLogAway: (error) => {
      if (availability.appendsFail())
        logger.error({ err: error }, 'the event log does not answer; usage stays in the journal');
    },
    onLogBack: () => {
      availability.appendsSucceed();
      logger.info({ requests: settlement.pending }, 'the event log answers again; what waits is settled');
    },
  });
  return settlement;
}

/** Says in the log, once for a request settled here, that an operator has to decide on what could not be debited of it. */
function tellException(accounts: AccountBook, accountId: AccountId, requestId: RequestId, logger: Logger): void {
  const { state } = accounts.read(accountId);
  const exception = state.type === 'open' ? openException(state.exceptions, requestId) : undefined;
  if (exception === undefined) return;
  const usd = formatUsd(amountOfException(exception));
  logger.error({ requestId, accountId, usd, why: reasonsOf(exception) }, 'usage that an operator has to decide on');
}

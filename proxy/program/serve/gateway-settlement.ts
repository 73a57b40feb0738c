import type { Logger } from 'pino';
import { EventLogError } from '../../../contracts/event-log.ts';
import type { AccountId, RequestId } from '../../../contracts/ids.ts';
import { formatUsd } from '../../../contracts/money.ts';
import type { AccountRepository } from '../../../ledger/account/account-repository.ts';
import { amountOfException, openException, reasonsOf } from '../../../ledger/account/exceptions.ts';
import type { LogBreaker } from '../../../ledger/log-breaker.ts';
import { OutageNews } from '../../../ledger/outage-news.ts';
import { Settlement } from '../../../ledger/settlement/settlement.ts';
import type { Availability } from '../../availability.ts';
import type { OpenedGateway } from './open-gateway.ts';

interface GatewaySettlementParts {
  readonly opened: OpenedGateway;
  readonly availability: Availability;
  /** Whether a request is under way in this process, and not what an earlier one has left. */
  readonly isUnderWay: (requestId: RequestId) => boolean;
  /** Told for each request that is settled, and how many milliseconds after its end. */
  readonly onSettled: (requestId: RequestId, latencyMs: number) => void;
  /** Told of requests that wait for an account that is set aside. */
  readonly onAside: (requestIds: readonly RequestId[]) => void;
}

export function gatewaySettlement(parts: GatewaySettlementParts): Settlement {
  const { opened, availability, isUnderWay, onSettled, onAside } = parts;
  const { options, projections, ledgerWatch, breaker } = opened;
  const { log, logger, clock } = options;
  const settlement = new Settlement({
    log,
    repository: projections.accounts,
    clock,
    breaker,
    waitsForEarlier: ledgerWatch.left.settleable.length > 0,
    isUnderWay,
    onSettled: (accountId, { requestId, finishedAt }) => {
      onSettled(requestId, clock() - Date.parse(finishedAt));
      tellException(projections.accounts, accountId, requestId, logger);
    },
    onStuck: (requestId, error) => {
      availability.cannotSettle(requestId);
      logger.fatal({ err: error, requestId }, 'a request cannot be settled; the journal keeps it');
    },
    onAside,
    onOwnTrouble: (accountId, error) => {
      const why = error instanceof EventLogError ? 'the event log takes no usage of' : 'nothing is settled of';
      logger.error({ err: error, accountId }, `${why} this account; it stays in the journal`);
    },
  });
  tellOutages(breaker, settlement, logger);
  return settlement;
}

/** Once when the log goes, once for each further reason, and once when it is back. */
function tellOutages(breaker: LogBreaker, settlement: Settlement, logger: Logger): void {
  const outage = new OutageNews();
  breaker.onFailed((error, isFirst) => {
    const isNews = outage.isNews(error instanceof Error ? error.message : String(error));
    if (isFirst) logger.error({ err: error }, 'the event log does not answer; usage stays in the journal');
    else if (isNews) logger.warn({ err: error }, 'the event log still does not answer, for another reason');
  });
  breaker.onSignOfLife((isClosed) => {
    if (!isClosed) return;
    outage.over();
    logger.info({ requests: settlement.pending }, 'the event log answers again; what waits is settled');
  });
}

/** Says in the log, once for a request settled here, that an operator has to decide on what could not be debited of it. */
function tellException(accounts: AccountRepository, accountId: AccountId, requestId: RequestId, logger: Logger): void {
  const { state } = accounts.read(accountId);
  const exception = state.type === 'open' ? openException(state.exceptions, requestId) : undefined;
  if (exception === undefined) return;
  const usd = formatUsd(amountOfException(exception));
  logger.error({ requestId, accountId, usd, why: reasonsOf(exception) }, 'usage that an operator has to decide on');
}

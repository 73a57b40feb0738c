import { decodeMetadata } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { AccountId } from '../../contracts/ids.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import { evolveAt } from './account-event.ts';
import { type AccountState, INITIAL_ACCOUNT } from './account-state.ts';
import { openException } from './exceptions.ts';
import type { BillingException } from './exceptions-state.ts';
import { readAccountEvents } from './load-account.ts';

/** An exception that an operator has ended, with what it was about. */
export interface EndedException {
  readonly exception: BillingException;
  readonly state: 'approved' | 'dropped';
  /** What was debited, or never will be. */
  readonly amount: MicroUsd;
  readonly reason: string;
  readonly actor: string;
  /** When it was ended: an RFC 3339 instant. */
  readonly endedAt: string;
}

/**
 * The ended exceptions of an account, in the order in which they were ended: read from the whole stream, since the state
 * keeps of them no more than how they ended. @throws EventLogError; as `readAccountEvents`
 */
export async function readEndedExceptions(log: EventLog, accountId: AccountId): Promise<EndedException[]> {
  const found: EndedException[] = [];
  let state: AccountState = INITIAL_ACCOUNT;
  for await (const { recorded, event } of readAccountEvents(log, accountId)) {
    if (state.type === 'open' && (event.type === 'ExceptionApproved' || event.type === 'ExceptionDropped')) {
      const { requestId, amount, reason, actor } = event.data;
      const exception = openException(state.exceptions, requestId);
      const how = event.type === 'ExceptionApproved' ? 'approved' : 'dropped';
      const { recordedAt } = decodeMetadata(recorded);
      if (exception !== undefined) found.push({ exception, state: how, amount, reason, actor, endedAt: recordedAt });
    }
    state = evolveAt(accountId, state, recorded.revision, event);
  }
  return found;
}

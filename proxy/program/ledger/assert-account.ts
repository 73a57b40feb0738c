import type { ReadableLog } from '../../../contracts/event-log.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { hasEvents } from '../../../ledger/identity/unsettleable.ts';
import { CommandError, EXIT } from '../command-context.ts';

/** @throws CommandError where the ledger has no such account; EventLogError */
export async function assertAccount(log: ReadableLog, account: AccountId): Promise<void> {
  if (!(await hasEvents(log, account))) throw noAccount(account);
}

export const noAccount = (account: AccountId): CommandError =>
  new CommandError(`${account}: there is no such account`, EXIT.refused);

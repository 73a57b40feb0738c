import { join } from 'node:path';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import type { Action } from '../../../contracts/permissions.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { accountNotFound } from '../../../ledger/account/commands.ts';
import { accountAsTold } from '../../../ledger/account/words-for-accounts.ts';
import { type AccountInFile, accountInFile } from '../../../projections/account-in-file.ts';
import type { AccountViews } from '../../../projections/account-views.ts';
import { readUndamaged } from '../../../projections/damaged-views.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { wasClosedWhole } from '../../../projections/was-closed-whole.ts';
import {
  type CommandContext,
  CommandError,
  EXIT,
  type ProvenLedger,
  readerOf,
  warnOperator,
} from '../command-context.ts';
import { sayAside } from '../command-error.ts';
import { describeDamage } from '../ledger/proven-ledger.ts';
import { isServed } from '../projections/beside-live-views.ts';
import { assertMay, readAccount, refusedAs } from './run-account-command.ts';

/**
 * An account as the data folder's views have it, so that a command need not read its stream from the beginning. Null where the ledger alone is to be
 * asked: the folder has no such views, they know another ledger, or were left by a gateway that was killed, and are looked at by the next one's
 * start. @throws UnreadableFileError; Error of SQLite that is not the file's fault
 */
export function accountInViews(
  context: CommandContext,
  configuration: Configuration,
  { isWhole }: ProvenLedger,
  id: AccountId,
): AccountInFile | null {
  const path = join(configuration.data, VIEWS_FILE);
  if (!isWhole) return null;
  // A gateway that has them open has looked at all of their rows.
  const looked = readUndamaged(path, () =>
    isServed(configuration) || wasClosedWhole(path) ? accountInFile(path, id) : null,
  );
  if (looked.damage === null) return looked.read;
  warnOperator(context, describeDamage(configuration.data, looked.damage));
  return null;
}

/**
 * An account as the views have it that `withViews` gives, for a reading by whoever gives this command line, in the words that these may
 * be told. Of one that is set aside they have a part: the ledger says whether that may be told.
 * @throws CommandError; AccountUnreadableError; HiddenStreamError
 */
export async function readInViews(
  context: CommandContext,
  { balance, setAside }: AccountViews,
  log: EventLog,
  asked: { readonly id: AccountId; readonly action: Action },
): Promise<OpenAccount> {
  const { id, action } = asked;
  const why = setAside.whyOf(id);
  if (why !== null) {
    await readAccount(context, log, id, action);
    throw new CommandError(sayAside(id, why), EXIT.refused);
  }
  const { state } = balance.read(id);
  assertMay(context, id, action, state);
  if (state.type === 'unopened') throw refusedAs(id, accountNotFound());
  return accountAsTold(readerOf(context), state);
}

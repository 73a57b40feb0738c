import { join } from 'node:path';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { type AccountInFile, accountInFile } from '../../../projections/account-in-file.ts';
import { readUndamaged } from '../../../projections/damaged-views.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { wasClosedWhole } from '../../../projections/was-closed-whole.ts';
import type { CommandContext, ProvenLedger } from '../command-context.ts';
import { describeDamage } from '../ledger/proven-ledger.ts';
import { isServed } from '../projections/beside-live-views.ts';

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
  context.warn(`warning: ${describeDamage(configuration.data, looked.damage)}\n`);
  return null;
}

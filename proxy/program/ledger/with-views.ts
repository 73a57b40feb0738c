import { join } from 'node:path';
import type { Command } from 'commander';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountViews } from '../../../projections/account-views.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { Projections } from '../../../projections/projections.ts';
import { type CommandContext, withReadLog } from '../command-context.ts';
import { describeDamage } from './proven-ledger.ts';

/**
 * All accounts for a command that reads: from the views and what the log has beyond them; the views' file is left alone.
 * Views that know another ledger than this one are not used: what the log has is folded from its beginning.
 */
export async function withViews<T>(
  context: CommandContext,
  command: Command,
  work: (accounts: AccountViews, log: EventLog) => Promise<T>,
): Promise<T> {
  return withReadLog(context, command, async (log, { data }, { isWhole }) => {
    const path = isWhole ? join(data, VIEWS_FILE) : null;
    const projections = await Projections.start({
      log,
      path,
      persist: false,
      onDamaged: (why) => context.warn(`warning: ${describeDamage(data, why)}\n`),
    });
    try {
      await projections.whenCaughtUp();
      projections.accounts.setAside.onChanged((accountId, why) => {
        if (why !== null) context.warn(`warning: ${accountId}: the account is set aside: ${why}\n`);
      });
      return await work(projections.accounts, log);
    } finally {
      await projections.close();
    }
  });
}

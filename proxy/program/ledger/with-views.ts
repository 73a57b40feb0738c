import { join } from 'node:path';
import type { Command } from 'commander';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountViews } from '../../../projections/account-views.ts';
import { DamagedViewsError } from '../../../projections/damaged-views.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { Projections } from '../../../projections/projections.ts';
import type { ProjectionsOptions } from '../../../projections/projections-options.ts';
import { type CommandContext, warnOperator, withReadLog } from '../command-context.ts';
import { sayAside } from '../command-error.ts';
import { describeDamage } from './proven-ledger.ts';

type ViewsWork<T> = (accounts: AccountViews, log: EventLog) => Promise<T>;

/**
 * What a command finds in the accounts' views and what the log has beyond them; the views' file is left alone. Of it only
 * what the work asks for is read, and where that cannot be, the work is done again, from the ledger's beginning: it shows
 * nothing, and answers with nothing of the views. Views that know another ledger than this one are not used, either.
 */
export async function withViews<T>(context: CommandContext, command: Command, work: ViewsWork<T>): Promise<T> {
  return withReadLog(context, command, async (log, { data }, { isWhole }) => {
    const onDamaged = (why: string): void => warnOperator(context, describeDamage(data, why));
    const options = { log, persist: false, onDamaged };
    const fromNothing = (): Promise<T> => onViews({ ...options, path: null }, context, work);
    if (!isWhole) return fromNothing();
    try {
      return await onViews({ ...options, path: join(data, VIEWS_FILE) }, context, work);
    } catch (error) {
      if (!(error instanceof DamagedViewsError)) throw error;
      onDamaged(error.damage);
      return fromNothing();
    }
  });
}

async function onViews<T>(options: ProjectionsOptions, context: CommandContext, work: ViewsWork<T>): Promise<T> {
  const projections = await Projections.start(options);
  const { accounts } = projections;
  try {
    await projections.whenCaughtUp();
    const done = await work(accounts, options.log);
    accounts.setAside.onChanged((accountId, why) => {
      if (why !== null) warnOperator(context, sayAside(accountId, why));
    });
    return done;
  } finally {
    await projections.close();
  }
}

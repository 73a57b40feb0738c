import type { EventLog } from '../../../contracts/event-log.ts';
import { accountId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { counted } from '../../../contracts/money.ts';
import { lastMonthOver } from '../../../ledger/account/month.ts';
import { openMonthsOf } from '../../../ledger/statement/open-months.ts';
import { whyDamaged } from '../../../projections/damaged-views.ts';
import { unstatedAccountsIn } from '../../../projections/unstated-accounts.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { type Examined, type Found, firstNamed, ok, readingUntilMs, warn } from './finding.ts';

/** Whether months of accounts could have been closed for long, and are not. */
export async function lookAtStatements(log: EventLog, examined: Examined): Promise<Found> {
  const { configuration, context, isServed } = examined;
  const month = lastMonthOver(context.clock() - configuration.statements.graceMs - LIMITS.statementLateMs);
  const { live } = viewFilesOf(configuration.data);
  const untilMs = readingUntilMs(examined);
  const late: string[] = [];
  let isWhole = true;
  try {
    for await (const { accountId: id, last, endMs } of unstatedAccountsIn(live, month)) {
      const due = (await openMonthsOf(log, accountId(id), last)).firstUpTo(month, endMs);
      if (due !== null) late.push(`${id} (${due})`);
      isWhole = performance.now() < untilMs;
      if (!isWhole) break;
    }
  } catch (error) {
    return warn(`not looked at: ${whyDamaged(live, error)}`);
  }
  const part = isWhole ? '' : '; not all accounts were looked at (give it more --timeout)';
  if (late.length === 0) return isWhole ? ok('no month is left to close') : warn(`none that is late was found${part}`);
  return warn(
    `a month of ${counted(late.length, 'account')} is not closed in time: ${firstNamed(late)}${part}`,
    isServed ? 'the log of the gateway says why, each time that it tries' : 'a gateway closes them once one runs',
  );
}

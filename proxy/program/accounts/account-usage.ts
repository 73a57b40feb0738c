import type { Command } from 'commander';
import type { AccountId } from '../../../contracts/ids.ts';
import { groupedExactUsd } from '../../../contracts/money.ts';
import { monthOf } from '../../../ledger/account/month.ts';
import type { MonthlyLine } from '../../../projections/monthly-view.ts';
import { accountArgument, assertBegun, monthArgument } from '../command-arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { withViews } from '../ledger/with-views.ts';
import { type ShownRow, show, showRows } from '../show.ts';
import { readInViews } from './account-in-views.ts';

/** `gateway account usage`: a month's lines, of which the amounts add up to what was debited for its requests. */
export function addAccountUsageCommand(account: Command, context: CommandContext): void {
  account
    .command('usage')
    .description(
      'what an account has used in a month, by model, lane and item: counts also of what was not charged, and what was debited',
    )
    .argument('<account>', 'account id', accountArgument)
    .option('--month <YYYY-MM>', 'of the requests’ start (UTC); this month otherwise', monthArgument)
    .addHelpText('after', '\nExample:\n  gateway account usage acct_demo --month 2026-11')
    .action(async (id: AccountId, { month }: { readonly month?: string }, command: Command) => {
      const asked = month ?? monthOf(context.clock());
      const lines = await withViews(context, command, async (accounts, log) => {
        await readInViews(context, accounts, log, { id, action: 'ShowAccount' });
        return accounts.monthly.linesOf(id, asked);
      });
      if (lines.length === 0) assertBegun(asked, context.clock());
      if (lines.length === 0) show(context, command, { json: [], text: `${id} has used nothing in ${asked}` });
      else await showRows(context, command, lines.toSorted(byName), ROW);
    });
}

const byName = (a: MonthlyLine, b: MonthlyLine): number =>
  [a.model, a.lane, a.item].join(' ') < [b.model, b.lane, b.item].join(' ') ? -1 : 1;

const ROW: ShownRow<MonthlyLine> = {
  head: ['month', 'model', 'lane', 'item', 'requests', 'count', 'USD'],
  cells: ({ month, model, lane, item, requests, count, amount }) => [
    ...[month, model, lane, item],
    ...[String(requests), String(count), groupedExactUsd(amount)],
  ],
  json: ({ month, model, lane, item, requests, count, amount }) => ({
    ...{ month, model, lane, item, requests, count },
    amountPicoUsd: amount,
  }),
};

import type { Command } from 'commander';
import type { AccountId } from '../../../contracts/ids.ts';
import { groupedUsd } from '../../../contracts/money.ts';
import { type EndedException, readEndedExceptions } from '../../../ledger/account/ended-exceptions.ts';
import { amountOfException, costOfException, reasonsOf } from '../../../ledger/account/exceptions.ts';
import type { BillingException } from '../../../ledger/account/exceptions-state.ts';
import { valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { readInViews } from '../accounts/account-in-views.ts';
import type { CommandContext } from '../command-context.ts';
import { withViews } from '../ledger/with-views.ts';
import { show, type Terminal, table } from '../show.ts';
import { exceptionsByAccount } from './exceptions-by-account.ts';

interface Listing {
  /** Null for all accounts. */
  readonly only: AccountId | null;
  readonly withEnded: boolean;
}

/** `gateway exception list`: the open ones from the views, those that have ended from their accounts' streams. */
export async function listExceptions(listing: Listing, command: Command, context: CommandContext): Promise<void> {
  const { open, ended, unlisted } = await withViews(context, command, async (accounts, log) => {
    if (listing.only !== null) await readInViews(context, accounts, log, { id: listing.only, action: 'ShowAccount' });
    const open: ListedException[] = [];
    const ended: ListedException[] = [];
    let unlisted = 0;
    for (const [accountId, exceptions] of exceptionsByAccount(accounts, listing.only)) {
      unlisted += exceptions.unlisted;
      for (const exception of valuesOf(exceptions.open)) open.push(openRow(accountId, exception));
      if (!listing.withEnded || exceptions.ended === null) continue;
      for (const one of await readEndedExceptions(log, accountId)) ended.push(endedRow(accountId, one));
    }
    return { open, ended, unlisted };
  });
  const all = [...open, ...ended];
  const more = unlisted === 0 ? '' : `\nand ${unlisted} without a price that stand in their UsageRecorded only`;
  show(context, command, {
    json: { exceptions: all, unlisted },
    text: () => textOf(all, listing.withEnded, context) + more,
  });
}

interface ListedException {
  readonly accountId: AccountId;
  readonly request: string;
  readonly state: 'open' | 'approved' | 'dropped';
  readonly startedAt: string;
  readonly model: string;
  /** In whole micro-USD: what an approval would debit, what it has debited, or what never will be. */
  readonly amountMicroUsd: bigint;
  readonly costPicoUsd: bigint;
  readonly why: readonly string[];
  /** Null, like the next two, while it is open. */
  readonly reason: string | null;
  readonly actor: string | null;
  readonly endedAt: string | null;
}

const openRow = (accountId: AccountId, exception: BillingException): ListedException => ({
  accountId,
  request: exception.requestId,
  state: 'open',
  startedAt: new Date(exception.startedAtMs).toISOString(),
  model: exception.model,
  amountMicroUsd: amountOfException(exception),
  costPicoUsd: costOfException(exception),
  why: reasonsOf(exception),
  reason: null,
  actor: null,
  endedAt: null,
});

const endedRow = (accountId: AccountId, ended: EndedException): ListedException => {
  const { exception, state, amount, reason, actor, endedAt } = ended;
  return { ...openRow(accountId, exception), state, amountMicroUsd: amount, reason, actor, endedAt };
};

function textOf(rows: readonly ListedException[], withEnded: boolean, terminal: Terminal): string {
  const head = ['account', 'request', 'started', 'model', 'USD', 'why', 'state'];
  return table(
    withEnded ? [...head, 'ended', 'by', 'reason'] : head,
    rows.map((row) => [
      row.accountId,
      row.request,
      row.startedAt,
      row.model,
      groupedUsd(row.amountMicroUsd),
      row.why.join('; '),
      row.state,
      ...(withEnded ? [row.endedAt ?? '', row.actor ?? '', row.reason ?? ''] : []),
    ]),
    terminal,
  );
}

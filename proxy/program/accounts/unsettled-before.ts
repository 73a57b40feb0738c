import type { Configuration } from '../../../contracts/configuration.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import { type CommandRefusal, commandRefused } from '../../../ledger/account/commands.ts';
import { writesOff, writtenOffTooSoon } from '../../../ledger/account/written-off.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { readRecovered } from '../../../ledger/settlement/read-recovered.ts';
import { readParked } from '../../../projections/parked-accounts.ts';
import { type CommandContext, configurationOfLine } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';

/**
 * Why what is left of a grant may not be written off: a request from before its end waits in this data folder's journal, as those of an
 * account that is parked do for as long as it is, and may burn it yet. Null where nothing is written off, or nothing waits.
 * @throws JournalError; Error where what waits cannot be read
 */
export function unsettledBefore(
  context: CommandContext,
  accountId: AccountId,
  events: readonly AccountEvent[],
): CommandRefusal | null {
  const configuration = writesOff(events) ? configurationOfLine(context) : null;
  if (configuration === null) return null;
  const over = writtenOffTooSoon(events, startsInJournal(configuration, accountId, context.clock()));
  if (over === null) return null;
  const isParked = readParked(configuration.data).some((parked) => parked.accountId === accountId);
  const unpark = nextCommand(startedWithOf(context), 'gateway', 'projections', 'unpark', accountId);
  return commandRefused(
    'not_written_off',
    `grant ${over.grantId} is over since ${over.expiredAt}, and a request from before that waits in the journal of ${configuration.data}, ` +
      `to be debited from it first: ${isParked ? `end the parking (${unpark})` : 'its gateway settles it as it runs'}, then run this again`,
  );
}

function startsInJournal({ data }: Configuration, accountId: AccountId, nowMs: number): number[] {
  return readBesideGateway(journalFolder(data))
    .map((request) => readRecovered(request, nowMs).started)
    .filter((started) => started.accountId === accountId)
    .map(({ startedAt }) => Date.parse(startedAt));
}

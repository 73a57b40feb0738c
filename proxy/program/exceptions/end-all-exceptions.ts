import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountId, RequestId, Revision } from '../../../contracts/ids.ts';
import { counted, groupedUsd, type MicroUsd, microUsd } from '../../../contracts/money.ts';
import { type AccountState, NOTHING } from '../../../ledger/account/account-state.ts';
import { decideAs } from '../../../ledger/account/authorize.ts';
import type { CommandOf, CommandRefusal } from '../../../ledger/account/commands.ts';
import { ConflictsError } from '../../../ledger/account/conflicts-error.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { openException } from '../../../ledger/account/exceptions.ts';
import { type CommandResult, executeFrom } from '../../../ledger/account/execute-command.ts';
import { valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { type AccountSnapshot, loadAccount } from '../../../ledger/account/load-account.ts';
import { type Done, refusedAs } from '../accounts/run-account-command.ts';
import {
  actorOf,
  type CommandCall,
  type CommandContext,
  CommandError,
  EXIT,
  recordingOf,
  withEventLog,
} from '../command-context.ts';
import { show, showWritten } from '../show.ts';
import { ENDINGS, type Ending } from './endings.ts';

interface EndAllOptions {
  readonly account: AccountId;
  /** Those of requests that started before it, in milliseconds; undefined is all. */
  readonly before: number | undefined;
  readonly reason: string;
  readonly dryRun?: boolean;
}

/**
 * `gateway exception approve|drop --all`: every exception of an account that is open when this begins, with one answer.
 * The account is read once, and an append takes as many as it can. Interrupted, it is run again for what is left.
 */
export async function endAllExceptions(
  word: Ending,
  { account, before, reason, dryRun = false }: EndAllOptions,
  { command, context }: CommandCall,
): Promise<void> {
  await withEventLog(context, command, async (log) => {
    const from = await loadAccount(log, account);
    if (from.state.type === 'unopened') throw new CommandError(`${account}: there is no such account`, EXIT.refused);
    const requestIds = [...valuesOf(from.state.exceptions.open)]
      .filter(({ startedAtMs }) => before === undefined || startedAtMs < before)
      .map(({ requestId }) => requestId);
    const ended = new EndedExceptions();
    const { actor } = recordingOf(context);
    const series = { type: 'EndExceptions', ending: ENDINGS[word].command, requestIds, reason, actor } as const;
    const execute = dryRun ? deciding(context) : appending(log, account, context);
    try {
      for await (const done of endInGroups(series, from, account, execute)) ended.add(done);
    } catch (error) {
      if (ended.count > 0 && !dryRun)
        context.warn(
          `${counted(ended.count, 'exception')} of ${account} were ${ENDINGS[word].done} before this; run it again\n`,
        );
      throw error;
    }
    tell(word, ended, { account, before, reason, dryRun }, { command, context });
  });
}

type Ended = Pick<Done, 'before' | 'events' | 'revision'> & { readonly recordedAt: string | null };
type Execute = (from: AccountSnapshot, command: CommandOf<'EndExceptions'>) => Promise<Ended | CommandRefusal>;

async function* endInGroups(
  series: CommandOf<'EndExceptions'>,
  from: AccountSnapshot,
  account: AccountId,
  execute: Execute,
): AsyncGenerator<Ended> {
  let [snapshot, left] = [from, series.requestIds];
  while (left.length > 0) {
    const done = await execute(snapshot, { ...series, requestIds: left });
    if ('code' in done) throw refusedAs(account, done);
    yield done;
    const state = done.events.reduce<AccountState>(evolve, done.before);
    snapshot = { state, revision: done.revision };
    left = left.filter((requestId) => isOpen(state, requestId));
  }
}

const isOpen = (state: AccountState, requestId: RequestId): boolean =>
  state.type === 'open' && openException(state.exceptions, requestId) !== undefined;

/**
 * The longer a group takes to decide, the surer another writer comes between: where conflicts do not end, half as many
 * are ended at once, down to one, and those after them likewise. @throws ConflictsError where not even one gets in
 */
function appending(log: EventLog, account: AccountId, context: CommandContext): Execute {
  let atOnce = Number.POSITIVE_INFINITY;
  return async (from, command) => {
    for (let snapshot = from; ; ) {
      const some = { ...command, requestIds: command.requestIds.slice(0, atOnce) };
      const recording = recordingOf(context);
      try {
        const result: CommandResult = await executeFrom(log, snapshot, account, some, actorOf(context), recording);
        if (result.type === 'refused') return result;
        return { ...result, recordedAt: result.events.length === 0 ? null : recording.recordedAt };
      } catch (error) {
        if (!(error instanceof ConflictsError) || atOnce === 1) throw error;
        snapshot = await loadAccount(log, account, snapshot);
        atOnce = Math.max(1, Math.floor(countEnded(decideAs(actorOf(context), some, snapshot.state)) / 2));
      }
    }
  };
}

/** How many one append would end. */
const countEnded = (decision: ReturnType<typeof decideAs>): number =>
  'type' in decision ? 0 : decision.filter(({ type }) => isEnding(type)).length;

const isEnding = (type: AccountEvent['type']): boolean => type === 'ExceptionApproved' || type === 'ExceptionDropped';

const deciding =
  (context: CommandContext): Execute =>
  async ({ state, revision }, command) => {
    const events = decideAs(actorOf(context), command, state);
    return 'type' in events ? events : { before: state, events, revision, recordedAt: null };
  };

/** What has become of all of them together. */
class EndedExceptions {
  count = 0;
  amount: MicroUsd = NOTHING;
  uncovered: MicroUsd = NOTHING;
  /** Of those, how many had something without a price. */
  unpriced = 0;
  /** After the last approval. */
  balanceAfter: MicroUsd | null = null;
  revision: Revision | null = null;
  recordedAt: string | null = null;

  add({ before, events, revision, recordedAt }: Ended): void {
    for (const { type, data } of events) {
      if (type !== 'ExceptionApproved' && type !== 'ExceptionDropped') continue;
      this.count++;
      this.amount = microUsd(this.amount + data.amount);
      const exception = before.type === 'open' ? openException(before.exceptions, data.requestId) : undefined;
      if (exception !== undefined && exception.unpriced.length > 0) this.unpriced++;
      if (type === 'ExceptionDropped') continue;
      this.uncovered = microUsd(this.uncovered + data.uncovered);
      this.balanceAfter = data.balanceAfter;
    }
    this.revision = revision;
    this.recordedAt = recordedAt ?? this.recordedAt;
  }
}

function tell(
  word: Ending,
  ended: EndedExceptions,
  { account, before, reason, dryRun = false }: EndAllOptions,
  { command, context }: CommandCall,
): void {
  const { count, amount, uncovered, balanceAfter, unpriced, revision } = ended;
  const done = ENDINGS[word].done;
  const ofWhen = before === undefined ? '' : ` of requests that started before ${new Date(before).toISOString()}`;
  const what = `${dryRun ? `would have ${done}` : done} ${counted(count, 'exception')} of ${account}${ofWhen}`;
  const owed = uncovered > 0n ? `, ${groupedUsd(uncovered)} USD of it beyond what the grants have` : '';
  const isUnpriced = word === 'approve' && unpriced > 0;
  const lines = [
    count === 0 ? `${account} has no open exceptions${ofWhen}` : `${what}, ${groupedUsd(amount)} USD: ${reason}`,
    ...(balanceAfter === null
      ? []
      : [`debits ${groupedUsd(amount)} USD${owed}; balance after them ${groupedUsd(balanceAfter)} USD`]),
    ...(isUnpriced ? [`what had no price stays as it was billed, standard or not at all: in ${unpriced} of them`] : []),
  ];
  const after = balanceAfter === null ? {} : { balanceAfterMicroUsd: balanceAfter, uncoveredMicroUsd: uncovered };
  const json = {
    ...{
      accountId: account,
      [done]: !dryRun,
      ...(dryRun ? { dryRun } : {}),
      exceptions: count,
      amountMicroUsd: amount,
    },
    ...after,
    ...(dryRun || revision === null ? {} : { revision }),
  };
  if (dryRun) show(context, command, { json, text: [...lines, 'nothing was written'].join('\n') });
  else showWritten(context, command, ended.recordedAt, { json, text: lines.join('\n') });
}

import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import { decodeEvent } from '../../../contracts/event-codec.ts';
import type { ReadableLog } from '../../../contracts/event-log.ts';
import { type AccountId, accountStream, LEDGER_STREAM, type RequestId } from '../../../contracts/ids.ts';
import { counted, groupedCount } from '../../../contracts/money.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { type Explanation, RequestExplainer } from '../../../ledger/statement/explanation.ts';
import { findRequests } from '../../../ledger/statement/find-request.ts';
import { namedRateCard } from '../../../ledger/statement/named-rate-card.ts';
import { ratingFaults } from '../../../ledger/statement/rating-faults.ts';
import { accountArgument, nameArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT } from '../command-context.ts';
import { show } from '../show.ts';
import { assertAccount } from './assert-account.ts';
import { type Explained, explanationText } from './explanation-text.ts';
import { logWithProgress } from './log-with-progress.ts';
import { offlineOption, withLedger } from './with-ledger.ts';

interface ExplainOptions {
  readonly account?: AccountId;
  readonly offline?: string;
}

/** `gateway ledger explain`: one request, from the events of its account and the rate card of its time. */
export function addExplainCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('explain')
    .description(
      'one request: who asked, what was used at which prices, what was debited from which credits, and what came after.' +
        ' By our own id the embedded log is asked for the time that stands in it; an event store, and any log by the' +
        " provider's id, is looked through, which --account saves: then that account's events alone are read",
    )
    .argument('<request>', "our request id, or the provider's", nameArgument)
    .option('--account <account>', 'whose request it is: saves looking for it', accountArgument)
    .addOption(offlineOption())
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger explain req_019a5b3c00007000800000000000000a' +
        '\n  gateway ledger explain msg_01XFDUDYJgAACzvnptvVoYEL --account acct_demo --json',
    )
    .action(async (id: string, { account, offline }: ExplainOptions, command: Command) => {
      await withLedger(offline, { context, command }, async (log, configuration) => {
        if (account !== undefined) await assertAccount(log, account);
        const { accountId, requestId } = await onlyRequest(id, account ?? null, { log, configuration, context });
        const explained = await explain(log, accountId, requestId);
        const named = await namedRateCard(log, explained.usage.data.rateCard);
        warnOfUnreadable(accountId, explained, context);
        context.whenUnread?.(null);
        const faults = [...explained.faults, ...ratingFaults(explained, named)];
        const all = { ...explained, accountId, named, faults };
        show(context, command, { json: jsonOf(all), text: () => explanationText(all, context), isPainted: true });
        if (faults.length > 0)
          throw new CommandError(`${requestId}: not as it should be: ${faults.join('; ')}`, EXIT.faults);
      });
    });
}

interface Lookup {
  readonly log: ReadableLog;
  /** Null of a file that was named. */
  readonly configuration: Configuration | null;
  readonly context: CommandContext;
}

/** @throws CommandError where the id names no request, or several */
async function onlyRequest(id: string, account: AccountId | null, { log, configuration, context }: Lookup) {
  const [found, ...others] = await findRequests(logWithProgress(log, context), id, {
    account,
    hasOrdinals: configuration === null || configuration.eventLog.kind === 'sqlite',
  });
  if (found === undefined) throw await unknownRequest(id, account, { log, configuration });
  if (others.length > 0)
    throw new CommandError(
      `${id} is the provider's id of several requests; explain one of them:\n` +
        [found, ...others]
          .slice(0, NAMED_MAX)
          .map(({ requestId, accountId }) => `  ${requestId} --account ${accountId}`)
          .join('\n') +
        (others.length < NAMED_MAX ? '' : `\n  and ${groupedCount(others.length + 1 - NAMED_MAX)} more`),
      EXIT.refused,
    );
  return found;
}

const NAMED_MAX = 20;

async function unknownRequest(
  id: string,
  account: AccountId | null,
  { log, configuration }: Pick<Lookup, 'log' | 'configuration'>,
): Promise<CommandError> {
  const journal = configuration === null ? null : journalFolder(configuration.data);
  const isWaiting = journal !== null && readBesideGateway(journal).some(({ requestId }) => requestId === id);
  const why = isWaiting
    ? 'it is under way, or waits in the journal of this data folder to be settled'
    : ((await whyGivenUp(log, id)) ??
      'what was refused before it went to a provider is not recorded: its line in the access log says why; and what is under way not yet');
  return new CommandError(`${id}: ${account ?? 'the ledger'} has no such request; ${why}`, EXIT.refused);
}

/** Of a request that the journal held and a ledger that was lost could not take; null of others. */
async function whyGivenUp(log: ReadableLog, id: string): Promise<string | null> {
  for await (const recorded of log.readStream(LEDGER_STREAM)) {
    const event = decodeEvent(recorded);
    if (event.type !== 'LossAccepted') continue;
    const { generation, requests } = event.data;
    const given = requests.find(({ requestId }) => requestId === id);
    if (given !== undefined)
      return `it was given up when the loss of generation ${generation} was accepted: ${given.cause}`;
  }
  return null;
}

/** @throws CommandError where the stream has no usage of it that can be read */
async function explain(log: ReadableLog, accountId: AccountId, requestId: RequestId): Promise<Explanation> {
  const explainer = new RequestExplainer(accountId, requestId);
  for await (const recorded of log.readStream(accountStream(accountId))) explainer.take(recorded);
  const explained = explainer.explanation();
  if (explained !== null) return explained;
  const why = explainer.faults.join('; ');
  throw new CommandError(`${requestId}: ${accountId} has no usage of it that can be read: ${why}`, EXIT.refused);
}

const WARNINGS_MAX = 3;

function warnOfUnreadable(id: AccountId, { unreadable }: Explanation, { warn }: CommandContext): void {
  for (const why of unreadable.slice(0, WARNINGS_MAX)) warn(`warning: ${id}: ${why}\n`);
  const more = unreadable.length - WARNINGS_MAX;
  if (more > 0) warn(`warning: ${id}: ${counted(more, 'more event')} cannot be read: gateway ledger replay ${id}\n`);
}

function jsonOf(explained: Explained): unknown {
  const { accountId, named, account, key, usage, debit, grants, lease, late, approved, dropped, thresholds } =
    explained;
  const keyOf = key === null ? null : { keyId: key.keyId, name: key.name, last4: key.last4 };
  const shares = (debit?.data.grants ?? []).map(({ grantId, amount }) => ({
    ...{ grantId, source: grants.get(grantId)?.source ?? null, amountMicroUsd: amount },
  }));
  return {
    ...{ accountId, email: account?.email ?? null, kind: account?.kind ?? null, key: keyOf, usage, debit },
    rateCard: typeof named === 'string' ? null : named,
    ...{ paidFrom: shares, lease, late, approved, dropped, thresholds, reversals: explained.reversals },
    balanceBeforeMicroUsd: explained.balanceBefore,
    balanceAfterMicroUsd: explained.balanceAfter,
    faults: explained.faults,
    unreadable: explained.unreadable,
  };
}

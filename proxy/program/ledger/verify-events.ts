import { type EventLog, type ReadableLog, type RecordedEvent, unlessHidden } from '../../../contracts/event-log.ts';
import {
  type AccountId,
  accountStream,
  CATALOG_STREAM,
  LEDGER_STREAM,
  type StreamName,
} from '../../../contracts/ids.ts';
import { Reversals } from '../../../ledger/audit/audit-reversals.ts';
import { beyondTheEnd } from '../../../ledger/audit/audit-views.ts';
import { LedgerAudit } from '../../../ledger/audit/ledger-audit.ts';
import { Repeats, repeatedPrints } from '../../../ledger/audit/once-only.ts';
import { ViewsToCompare } from '../../../projections/view-figures.ts';
import { CommandError, EXIT } from '../command-context.ts';
import { told } from './log-with-progress.ts';
import type { Verification, Verified } from './verify-file.ts';

/** Audits all of a log by its port, one event after the other in its order. @throws EventLogError */
export async function verifyLog(log: EventLog, verification: Verification): Promise<Verified> {
  const { onRead } = verification;
  const events = () =>
    told(log.readAll(), { progress: { add: onRead, end: () => {} }, after: 0, head: () => log.headPosition() });
  const verified = await verifyEvents(log, events, null, verification);
  // What the server hides is still among all events, until it is destroyed.
  for (const { stream, why } of (await log.hiddenStreams?.()) ?? [])
    verification.onFault({ stream, revision: null, what: why, found: null, expected: null });
  return verified;
}

/** Audits some accounts alone; prices are the catalog's in any case, and losses the ledger's. @throws EventLogError; CommandError where there is none */
export async function verifyAccounts(
  log: ReadableLog,
  accounts: readonly AccountId[],
  verification: Verification,
): Promise<Verified> {
  const shared = [CATALOG_STREAM, LEDGER_STREAM];
  const streams = [...shared, ...new Set(accounts.map(accountStream))];
  const ends = await Promise.all(streams.map((stream) => endOf(log, stream)));
  for (const [index, id] of [...new Set(accounts)].entries())
    if (ends[index + shared.length] === null) throw new CommandError(`${id}: there is no such account`, EXIT.refused);
  const all = ends.reduce<number>((sum, end) => sum + (end ?? -1) + 1, 0);
  async function* events(): AsyncGenerator<RecordedEvent> {
    for (const stream of streams)
      for await (const event of log.readStream(stream)) {
        verification.onRead(1, all);
        yield event;
      }
  }
  return verifyEvents(log, events, new Set(accounts), verification);
}

/** @param accounts those that are looked at; null is all */
async function verifyEvents(
  log: ReadableLog,
  read: () => AsyncIterable<RecordedEvent>,
  accounts: ReadonlySet<AccountId> | null,
  { onFault, views: path }: Verification,
): Promise<Verified> {
  const views = path === null ? null : ViewsToCompare.open(path);
  const audit = new LedgerAudit({ onFault, viewsOf: (accountId) => views?.figuresOf(accountId) ?? null });
  for await (const event of read()) audit.take(event);
  const audited = audit.end();
  for (const [accountId, revision] of views?.accounts() ?? []) {
    if (accounts?.has(accountId) === false || revision <= (audit.revisionOf(accountId) ?? -1)) continue;
    const stream = accountStream(accountId);
    // A gateway may have written to both meanwhile.
    const fault = beyondTheEnd(stream, revision, await unlessHidden(endOf(log, stream), null));
    if (fault !== null) onFault(fault);
  }
  views?.close();
  const repeated = repeatedPrints([audited.prints]);
  const looks = [new Repeats(repeated, onFault), new Reversals(audited.reversals, onFault)];
  if (repeated.size > 0 || audited.reversals.length > 0)
    for await (const event of read()) for (const look of looks) look.take(event);
  for (const look of looks) look.end();
  const { prints: _, reversals: __, ...verified } = audited;
  return verified;
}

/** The last revision of a stream; null where there is none. */
async function endOf(log: ReadableLog, stream: StreamName): Promise<number | null> {
  for await (const { revision } of log.readStream(stream, { direction: 'backwards', limit: 1 })) return revision;
  return null;
}

import type { EventLog } from '../../contracts/event-log.ts';
import type { Position } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import type { OnTaken } from '../event-fold.ts';
import { areViewsOf, readFoldedThrough, writeLedgerOfViews } from '../known-views.ts';
import { Projections } from '../projections.ts';
import { removeViews } from '../remove-views.ts';
import { LOG_SOURCE } from '../sources/log-view-source.ts';
import { markVerified } from '../verified-mark.ts';
import { restoreViews } from '../view-store.ts';
import { viewsOfThisProgram } from '../views-of-this-program.ts';
import { EventSums } from './event-sums.ts';
import { foldInParts, type LedgerInParts } from './fold-in-parts.ts';

interface BroughtUp {
  readonly log: EventLog;
  /** The log's own file, where it is in one, and there are several cores to fold it by. */
  readonly ledger?: LedgerInParts | null;
  readonly path: string;
  /** Of the ledger: what the file has of another one, or of another generation, goes. */
  readonly identity: LedgerIdentity | null;
  readonly clock: () => number;
  /** The disk is left so much. */
  readonly keepFreeBytes: number;
  /** How many events more are folded, and how many there will be in all, by their positions. */
  readonly onFolded: (events: number, of: number) => void;
}

interface WasBroughtUp {
  readonly events: number;
  /** Of all events up to there; null where it went on from what was there before, or does not know of all that the log had at first. */
  readonly sums: EventSums | null;
}

/**
 * Folds into a file of its own, from where it stands or from nothing, everything that the log has: by several threads, where the log is a file and has much, up to
 * where it ended then, and the rest as a gateway does. Interrupted it is gone on with from what was written last. @throws EventLogError; LedgerLostError; ViewsNotWrittenError where the disk has no room for it beside what is kept,
 * which a gateway would wait for, and need itself; Error where an event of the catalog cannot be read
 */
export async function bringUp({
  log,
  ledger = null,
  path,
  identity,
  clock,
  keepFreeBytes,
  onFolded,
}: BroughtUp): Promise<WasBroughtUp> {
  if (!areViewsOf(path, identity)) removeViews(path);
  if (identity !== null) writeLedgerOfViews(path, identity);
  markVerified(path, false);
  const folded = ledger === null ? null : await foldInParts({ log, ledger, path, clock, keepFreeBytes, onFolded });
  if (folded?.isAll === true) return folded;
  const after = readFoldedThrough(path)?.position ?? null;
  const before = folded ?? { events: 0, sums: after === null ? new EventSums() : null };
  const counted = countedLog(log, { ...before, after }, onFolded);
  const { onTaken } = counted;
  const failed = Promise.withResolvers<never>();
  // At its end nobody waits for it.
  failed.promise.catch(() => undefined);
  const onUnwritten = failed.reject;
  const written = { path, persist: true, keepFreeBytes, onUnwritten };
  const projections = await Projections.start({ log: counted.log, ...written, clock, onTaken });
  projections.follow({ onStopped: failed.reject });
  try {
    await Promise.race([failed.promise, projections.whenCaughtUp()]);
    await Promise.race([failed.promise, projections.whenWritten()]);
  } finally {
    await projections.close();
  }
  return { events: counted.events, sums: counted.sums() };
}

/** Whether a file has views that this program can go on with, of this ledger. @throws Error where its rows are not of one moment */
export function holdsViews(path: string, identity: LedgerIdentity | null): boolean {
  if (!areViewsOf(path, identity)) return false;
  const restored = restoreViews(path, viewsOfThisProgram(), { source: LOG_SOURCE });
  restored?.rows.close();
  return restored !== null;
}

interface FoldedBefore extends WasBroughtUp {
  /** Exclusive; null is the beginning of the log. */
  readonly after: Position | null;
}

/** The same log, whose subscription tells how far it has come, and what its events come to as they are taken, with those of before. */
function countedLog(log: EventLog, { events: before, sums, after }: FoldedBefore, onFolded: BroughtUp['onFolded']) {
  const from = after ?? 0;
  let last: number | null = null;
  const isWhole = (): boolean => last !== null && (sums?.through ?? 0) >= last;
  const onTaken: OnTaken = (recorded, event) => sums?.add(recorded, event);
  const counted = { events: before, log, onTaken, sums: () => (isWhole() ? sums : null) };
  const subscribeAll: EventLog['subscribeAll'] = (options) =>
    log.subscribeAll({
      ...options,
      onEvents: async (events) => {
        await options.onEvents(events);
        counted.events += events.length;
        last ??= (await log.headPosition()) ?? 0;
        const share = Math.min(1, ((events.at(-1)?.position ?? last) - from) / Math.max(1, last - from));
        const ofThese = (counted.events - before) / Math.max(share, Number.EPSILON);
        onFolded(events.length, Math.max(counted.events, before + Math.round(ofThese)));
      },
    });
  counted.log = {
    append: log.append.bind(log),
    readStream: log.readStream.bind(log),
    readAll: log.readAll.bind(log),
    headPosition: log.headPosition.bind(log),
    close: log.close.bind(log),
    subscribeAll,
  };
  return counted;
}

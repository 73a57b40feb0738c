import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { EventLogError } from '../../../contracts/event-log.ts';
import { accountStream } from '../../../contracts/ids.ts';
import { Reversals } from '../../../ledger/audit/audit-reversals.ts';
import { beyondTheEnd } from '../../../ledger/audit/audit-views.ts';
import { type Fault, ofLedger } from '../../../ledger/audit/fault.ts';
import type { Audited } from '../../../ledger/audit/ledger-audit.ts';
import { Repeats, repeatedPrints } from '../../../ledger/audit/once-only.ts';
import {
  lastPosition,
  missingPositions,
  openStreamEnds,
  scanFile,
} from '../../../ledger/event-log/sqlite/scan-file.ts';
import { ViewsToCompare } from '../../../projections/view-figures.ts';
import type { VerifyNews, VerifyPart } from './verify-thread.ts';

export interface Verification {
  readonly onFault: (fault: Fault) => void;
  /** The views' file; null where there is none to compare with. */
  readonly views: string | null;
  /** How many events more have been looked at, of how many in all. */
  readonly onRead: (events: number, of: number) => void;
}

export type Verified = Omit<Audited, 'prints' | 'reversals'>;

/** Beyond this many more threads read the same file no sooner. */
const THREADS_MAX = 16;
const GAPS_TOLD = 100;
/** What is parsed of an event is soon garbage: with less room V8 moves it about. */
const YOUNG_MB = 64;

/**
 * Audits a whole file of a ledger on all cores: each thread reads it by itself and looks at its part of the accounts. What
 * must stand once in all of it is compared at the end. @throws EventLogError as `scanFile`
 */
export async function verifyFile(path: string, { onFault, onRead, views }: Verification): Promise<Verified> {
  const upTo = lastPosition(path);
  const parts = Math.min(availableParallelism(), THREADS_MAX);
  const audits = await Promise.all(
    Array.from({ length: parts }, (_, part) =>
      auditPart({ path, part, parts, upTo, views }, { onFault, onRead: (events) => onRead(events, upTo) }),
    ),
  );
  const events = audits.reduce((sum, audited) => sum + audited.events, 0);
  if (events !== upTo) {
    const ranges = missingPositions(path, GAPS_TOLD);
    for (const range of ranges) onFault(ofLedger('no event is at positions', range));
    if (ranges.length === 0) onFault(ofLedger('events that were looked at', String(events), String(upTo)));
  }
  if (views !== null) compareEnds(path, views, onFault);
  const repeated = repeatedPrints(audits.map(({ prints }) => prints));
  const reversed = audits.flatMap(({ reversals }) => reversals);
  if (repeated.size > 0 || reversed.length > 0) {
    const looks = [new Repeats(repeated, onFault), new Reversals(reversed, onFault)];
    for (const event of scanFile({ path, part: 0, parts: 1, upTo })) for (const look of looks) look.take(event);
    for (const look of looks) look.end();
  }
  // The first looks at what is of no account.
  const { movedTo } = audits[0] ?? {};
  const moved = movedTo === undefined ? {} : { movedTo };
  return { events, accounts: audits.reduce((sum, { accounts }) => sum + accounts, 0), ...moved };
}

/** What the views know and the file has not, also now: a gateway may have written to both meanwhile. */
function compareEnds(path: string, views: string, onFault: (fault: Fault) => void): void {
  const seen = ViewsToCompare.open(views);
  const ends = openStreamEnds(path);
  for (const [accountId, revision] of seen?.accounts() ?? []) {
    const stream = accountStream(accountId);
    const fault = beyondTheEnd(stream, revision, ends.endOf(stream));
    if (fault !== null) onFault(fault);
  }
  ends.close();
  seen?.close();
}

function auditPart(
  workerData: VerifyPart,
  { onFault, onRead }: { readonly onFault: (fault: Fault) => void; readonly onRead: (events: number) => void },
): Promise<Audited> {
  return new Promise((resolve, reject) => {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MB };
    const worker = new Worker(new URL('./verify-thread.ts', import.meta.url), { workerData, resourceLimits });
    worker.on('message', (news: VerifyNews) => {
      if (news.type === 'faults') news.faults.forEach(onFault);
      else if (news.type === 'read') onRead(news.events);
      else if (news.type === 'unread') reject(new EventLogError(news.kind, news.message));
      else resolve(news.audited);
    });
    worker.on('error', reject);
    // Whoever has resolved before is not rejected by it.
    worker.on('exit', (code) => reject(new Error(`a thread of the audit has ended with code ${code}`)));
  });
}

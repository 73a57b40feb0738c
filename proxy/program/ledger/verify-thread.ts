import assert from 'node:assert/strict';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { EventLogError } from '../../../contracts/event-log.ts';
import type { Fault } from '../../../ledger/audit/fault.ts';
import { type Audited, LedgerAudit } from '../../../ledger/audit/ledger-audit.ts';
import { type ScanPart, scanFile } from '../../../ledger/event-log/sqlite/scan-file.ts';
import { ViewsToCompare } from '../../../projections/view-figures.ts';

/** What a thread tells: faults as they are found, how far it is, and at its end what it has seen. */
export type VerifyNews =
  | { readonly type: 'faults'; readonly faults: readonly Fault[] }
  | { readonly type: 'read'; readonly events: number }
  | { readonly type: 'end'; readonly audited: Audited }
  /** The file cannot be read: an error of a class would come over as one of none. */
  | { readonly type: 'unread'; readonly kind: EventLogError['kind']; readonly message: string };

export interface VerifyPart extends ScanPart {
  /** The views' file; null where there is none to compare with. */
  readonly views: string | null;
}

const EVENTS_A_WORD = 4_096;
const FAULTS_A_WORD = 256;

assert(parentPort !== null, 'this file is a thread');
try {
  auditPart(parentPort, workerData as VerifyPart);
} catch (error) {
  if (!(error instanceof EventLogError)) throw error;
  parentPort.postMessage({ type: 'unread', kind: error.kind, message: error.message } satisfies VerifyNews);
}

function auditPart(port: MessagePort, part: VerifyPart): void {
  const tell = (news: VerifyNews): void => port.postMessage(news);
  let faults: Fault[] = [];
  const tellFaults = (): void => {
    if (faults.length > 0) tell({ type: 'faults', faults });
    faults = [];
  };
  const onFault = (fault: Fault): void => {
    faults.push(fault);
    if (faults.length === FAULTS_A_WORD) tellFaults();
  };
  const views = part.views === null ? null : ViewsToCompare.open(part.views);
  const viewsOf = (accountId: string) => views?.figuresOf(accountId) ?? null;
  const audit = new LedgerAudit({ isFirst: part.part === 0, onFault, viewsOf });
  let told = 0;
  for (const event of scanFile(part)) {
    audit.take(event);
    if (audit.events - told < EVENTS_A_WORD) continue;
    tell({ type: 'read', events: audit.events - told });
    told = audit.events;
  }
  views?.close();
  const audited = audit.end();
  tellFaults();
  tell({ type: 'read', events: audited.events - told });
  port.postMessage({ type: 'end', audited } satisfies VerifyNews, [audited.prints.buffer]);
}

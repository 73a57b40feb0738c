import { join } from 'node:path';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { position, revision } from '../../../contracts/ids.ts';
import { describeFault, type Fault } from '../../../ledger/audit/fault.ts';
import { LedgerAudit } from '../../../ledger/audit/ledger-audit.ts';
import { Repeats, repeatedPrints } from '../../../ledger/audit/once-only.ts';
import { lastPosition, scanFile } from '../../../ledger/event-log/sqlite/scan-file.ts';
import { readKept } from '../../written-before/kept-state.ts';

/** Copies of a real ledger (written-before/), each damaged in one way: what the auditor says, and where. */
const path = join(readKept('76ed563', 'sqlite', 'ledger').folder, 'data', 'ledger.db');
export const ledger: readonly RecordedEvent[] = [...scanFile({ path, part: 0, parts: 1, upTo: lastPosition(path) })];

export function faultsOf(events: readonly RecordedEvent[], isFirst = true): string[] {
  const faults: Fault[] = [];
  const onFault = (fault: Fault): void => void faults.push(fault);
  const audit = new LedgerAudit({ onFault, isFirst });
  for (const event of events) audit.take(event);
  const repeats = new Repeats(repeatedPrints([audit.end().prints]), onFault);
  for (const event of events) repeats.take(event);
  return faults.map((fault) => `${fault.stream} ${fault.revision}: ${describeFault(fault)}`);
}

export type Data = Record<string, unknown>;
export type At = readonly [stream: string, revision: number];
export const isAt = (event: RecordedEvent, [stream, at]: At): boolean =>
  event.stream === stream && event.revision === at;

/** The ledger with the data of one event changed. */
export const altered = (at: At, change: (data: Data) => Data): RecordedEvent[] =>
  ledger.map((event) => (isAt(event, at) ? { ...event, data: JSON.stringify(change(JSON.parse(event.data))) } : event));

/** The ledger with an event's own texts changed. */
export const put = (at: At, change: (event: RecordedEvent) => Partial<RecordedEvent>): RecordedEvent[] =>
  ledger.map((event) => (isAt(event, at) ? { ...event, ...change(event) } : event));

/** Without an event, or with others in its place; revisions and positions are as though it had always been so. */
export function replaced(at: At, put: (event: RecordedEvent) => readonly RecordedEvent[]): RecordedEvent[] {
  const next = new Map<string, number>();
  const all = ledger.flatMap((event) => (isAt(event, at) ? put(event) : [event]));
  return all.map((event, index) => {
    const own = next.get(event.stream) ?? 0;
    next.set(event.stream, own + 1);
    return { ...event, revision: revision(own), position: position(index + 1) };
  });
}

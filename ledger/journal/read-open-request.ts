import { closeSync, openSync, readSync } from 'node:fs';
import type { RequestId } from '../../contracts/ids.ts';
import type { RecoveredRequest } from './journal.ts';
import type { Place } from './open-requests.ts';
import { checkedBytes, type JournalRecord, readRecord } from './record-v1.ts';

/** The texts of a request, from where they lie. @throws what the file system said, or that a record is not what was written */
export function readOpenRequest(
  requestId: RequestId,
  { begin, finish }: { readonly begin: Place | null; readonly finish: Place | null },
): RecoveredRequest {
  const start = begin === null ? null : textAt(begin);
  const finished = finish === null ? null : textAt(finish);
  if (start !== null) return { requestId, start, finished };
  if (finished !== null) return { requestId, start, finished };
  throw new Error(`the journal has neither the start nor the end of ${requestId}`);
}

/** Fills the bytes, which are as many as the record has. @throws as above */
export function readWhole(fd: number, { segment, offset, bytes }: Place, into: Buffer): void {
  readSync(fd, into, 0, bytes, offset);
  const isWhole = checkedBytes(into, 0, segment.number, offset) === bytes;
  if (!isWhole) throw new Error(`${segment.path} has changed at offset ${offset} since it was written`);
}

function textAt(place: Place): string {
  const buffer = Buffer.allocUnsafe(place.bytes);
  const fd = openSync(place.segment.path, 'r');
  try {
    readWhole(fd, place, buffer);
  } finally {
    closeSync(fd);
  }
  return textOf(readRecord(buffer, 0, place.bytes), place);
}

function textOf(record: JournalRecord, { segment, offset }: Place): string {
  if (record.kind === 'settle') throw new Error(`${segment.path} has no request at offset ${offset}`);
  return record.text;
}

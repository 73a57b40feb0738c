import { checkedBytes, type JournalRecord, readRecord } from './record-v1.ts';
import { decodeHeader, HEADER_BYTES } from './segment-header.ts';

/** A stretch of a file in which no valid record begins; both in bytes. */
interface Stretch {
  readonly offset: number;
  readonly bytes: number;
}

interface SegmentScan {
  /** Stretches with valid records after them. */
  readonly damaged: readonly Stretch[];
  /** What follows the last valid record; null where nothing does. In the last segment the normal mark of a crash. */
  readonly tail: Stretch | null;
}

type RecordVisitor = (record: JournalRecord, offset: number, bytes: number) => void;

/** Every valid record in order, and what lies between. @throws JournalError `foreign_file`, `newer_version` */
export function scanSegment(bytes: Buffer, segment: number, file: string, visit: RecordVisitor): SegmentScan {
  const version = decodeHeader(bytes, segment, file);
  switch (version) {
    case 1:
      return scanVersion1(bytes, segment, visit);
    default:
      throw new Error(`no reader for format version ${version}: decodeHeader let it pass`);
  }
}

/**
 * After damage the search goes on byte by byte, for a damaged length does not say where the next record begins. Only
 * a place that could be the start of a record costs a checksum, so this is linear in practice.
 */
function scanVersion1(bytes: Buffer, segment: number, visit: RecordVisitor): SegmentScan {
  const damaged: Stretch[] = [];
  let validEnd = HEADER_BYTES;
  for (let at = HEADER_BYTES; at < bytes.length; ) {
    const recordBytes = checkedBytes(bytes, at, segment, at);
    if (recordBytes === null) {
      at += 1;
      continue;
    }
    if (at > validEnd) damaged.push({ offset: validEnd, bytes: at - validEnd });
    visit(readRecord(bytes, at, at + recordBytes), at, recordBytes);
    at += recordBytes;
    validEnd = at;
  }
  const tail = validEnd < bytes.length ? { offset: validEnd, bytes: bytes.length - validEnd } : null;
  return { damaged, tail };
}

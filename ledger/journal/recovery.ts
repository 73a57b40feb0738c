import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FoundRecords } from './found-records.ts';
import type { DamagedStretch, RecoveredRequest } from './journal.ts';
import type { OpenRequests } from './open-requests.ts';
import { scanSegment } from './scan-segment.ts';
import { newSegment, type Segment } from './segment.ts';
import { listSegments, segmentFile } from './segment-folder.ts';
import { isTornHeader } from './segment-header.ts';

export interface Recovery {
  /** Ascending and without a gap in their numbers, unless the gap is reported in `damaged`. */
  readonly segments: readonly Segment[];
  readonly open: OpenRequests;
  readonly recovered: readonly RecoveredRequest[];
  readonly damaged: readonly DamagedStretch[];
  /** Bytes of the last segment after its last valid record, which the crash cut short; not counted in its size. */
  readonly tornBytes: number;
  /** They are zeros, as in a segment that was made of room for the ends of requests: nothing was cut short. */
  readonly isRoom: boolean;
  /** The last file, where it is torn before the end of its header and so is no segment. */
  readonly tornFile: string | null;
  /** The number of the next segment: that of the torn file, which goes, or the one after the last. */
  readonly nextNumber: number;
  readonly nextSequence: number;
}

/** Reads a journal folder and changes nothing. @throws JournalError `foreign_file`, `newer_version`. */
export function readJournal(directory: string): Recovery {
  const numbers = listSegments(directory);
  const found = new FoundRecords();
  const segments: Segment[] = [];
  const damaged: DamagedStretch[] = [];
  let tornBytes = 0;
  let isRoom = false;
  let tornFile: string | null = null;
  for (const [index, number] of numbers.entries()) {
    const path = join(directory, segmentFile(number));
    damaged.push(...missingBefore(directory, numbers, index));
    const isLast = index === numbers.length - 1;
    const bytes = readFileSync(path);
    if (isLast && isTornHeader(bytes, number)) {
      tornBytes = bytes.length;
      tornFile = path;
      continue;
    }
    const segment = newSegment(number, path, bytes.length);
    const scan = scanSegment(bytes, number, path, (record, offset, length) =>
      found.add(record, { segment, offset, bytes: length }),
    );
    const stretches = [...scan.damaged];
    if (scan.tail !== null && isLast) {
      tornBytes = scan.tail.bytes;
      isRoom = !bytes.subarray(scan.tail.offset).some((byte) => byte !== 0);
      segment.bytes = scan.tail.offset;
    } else if (scan.tail !== null) stretches.push(scan.tail);
    segment.isDamaged = stretches.length > 0;
    for (const stretch of stretches) damaged.push({ file: path, ...stretch });
    segments.push(segment);
  }
  const { open, recovered } = found.unsettled(damaged.length > 0);
  return {
    segments,
    open,
    recovered,
    damaged,
    tornBytes,
    isRoom,
    tornFile,
    nextNumber: tornFile === null ? (numbers.at(-1) ?? 0) + 1 : (numbers.at(-1) ?? 1),
    nextSequence: found.nextSequence,
  };
}

/** Segments leave the journal oldest first, so that one missing between two others was lost. */
function missingBefore(directory: string, numbers: readonly number[], index: number): DamagedStretch[] {
  const number = numbers[index];
  const previous = numbers[index - 1];
  if (number === undefined || previous === undefined || number === previous + 1) return [];
  return [{ file: join(directory, segmentFile(previous + 1)), offset: 0, bytes: 0 }];
}

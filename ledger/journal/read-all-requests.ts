import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestId } from '../../contracts/ids.ts';
import { asideFolder } from './aside-folder.ts';
import { scanSegment } from './scan-segment.ts';
import { listSegments, segmentFile } from './segment-folder.ts';
import { isTornHeader } from './segment-header.ts';

/** A request of which a journal has both ends, or the start of one that is not settled. */
export interface JournalRequest {
  readonly requestId: RequestId;
  readonly start: string;
  readonly finished: string | null;
}

/**
 * Every request that the segments of a journal, and of what it keeps aside, still tell of: also those that it has handed over
 * to a ledger, which a ledger that was put back does not have. One that was settled without an end has never reached an
 * upstream. What cannot be read is passed by. Changes nothing. @throws JournalError `foreign_file`, `newer_version`
 */
export function readAllRequests(directory: string): JournalRequest[] {
  const found = new Map<RequestId, { start: string | null; finished: string | null; isSettled: boolean }>();
  const of = (id: RequestId) => {
    const known = found.get(id) ?? { start: null, finished: null, isSettled: false };
    found.set(id, known);
    return known;
  };
  for (const folder of [directory, asideFolder(directory)].filter(existsSync))
    for (const number of listSegments(folder)) {
      const path = join(folder, segmentFile(number));
      const bytes = readFileSync(path);
      if (isTornHeader(bytes, number)) continue;
      scanSegment(bytes, number, path, (record) => {
        if (record.kind === 'begin') of(record.requestId).start = record.text;
        else if (record.kind === 'finish') of(record.requestId).finished = record.text;
        else for (const id of record.requestIds) of(id).isSettled = true;
      });
    }
  return [...found].flatMap(([requestId, { start, finished, isSettled }]) =>
    start === null || (finished === null && isSettled) ? [] : [{ requestId, start, finished }],
  );
}

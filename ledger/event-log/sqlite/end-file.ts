import type { ProposedEvent, RecordedEvent } from '../../../contracts/event-log.ts';
import type { Revision, StreamName } from '../../../contracts/ids.ts';
import { AppendTable } from './append-table.ts';
import { eventOf } from './event-of-row.ts';
import { SQLITE_LIMITS } from './limits.ts';
import { APPENDED, type EventRow } from './messages.ts';
import { asLogError, openForAppends, prepareArrays } from './open-database.ts';
import { LAST_EVENT } from './read-pages.ts';
import { retryWhileBusy } from './retry-while-busy.ts';
import { NOTHING_FOLLOWS } from './schema.ts';

interface LastEvent {
  readonly stream: StreamName;
  readonly expected: Revision;
  /** @param head what stands before it; null in an empty file */
  readonly of: (head: RecordedEvent | null) => ProposedEvent;
}

/**
 * Appends the last event that a file will ever have, and in the same transaction makes the file refuse every further one,
 * whoever has it open. False where the stream is not at the expected revision: then nothing is done.
 * @throws EventLogError `unavailable` where the file cannot be written
 */
export function endFile(path: string, { stream, expected, of }: LastEvent): boolean {
  const { busyMs } = SQLITE_LIMITS;
  const database = openForAppends(path, busyMs);
  try {
    return asLogError(path, () => {
      retryWhileBusy(() => database.exec('BEGIN IMMEDIATE'), busyMs);
      const row = prepareArrays(database, LAST_EVENT).get() as unknown as EventRow | undefined;
      const { id, type, data, metadata } = of(row === undefined ? null : eventOf(row));
      const [outcome] = new AppendTable(database).apply([expected, 1, stream, id, type, data, metadata], Date.now());
      if (outcome !== APPENDED) return false;
      database.exec(NOTHING_FOLLOWS);
      database.exec('COMMIT');
      return true;
    });
  } finally {
    // What is not committed is rolled back.
    database.close();
  }
}

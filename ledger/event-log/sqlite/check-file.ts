import { EventLogError } from '../../../contracts/event-log.ts';
import { checkWhole } from './check-whole.ts';
import { lookAt } from './file-identity.ts';
import { asLogError } from './open-database.ts';
import { walOwnerOf } from './wal-record.ts';

interface CheckedFile {
  readonly path: string;
  readonly busyMs: number;
  /** Its events are counted in any case; otherwise where a -wal lies there that has not proved to be its own. */
  readonly isServedFrom: boolean;
}

/**
 * Whether a file may be opened, asked before anything could write to it. SQLite takes a write-ahead log by its name alone
 * for that of the file beside it: a copy that is put back beside the `-wal` of the file before is read as a mixture of
 * both, which the next close makes for good, and where there is no file, or an empty one, the `-wal` is deleted. Nothing
 * is changed here, but for an index (`-shm`) of the -wal.
 *
 * @throws EventLogError `invalid` where it may not; `unavailable` where the file cannot be read
 */
export function checkFile({ path, busyMs, isServedFrom }: CheckedFile): void {
  const owner = asLogError(path, () => {
    // The -wal first: nobody writes one before there is something in the file.
    const walBytes = lookAt(`${path}-wal`)?.size ?? 0n;
    const bytes = lookAt(path)?.size ?? null;
    if (walBytes === 0n) return bytes === null ? 'nobody' : 'none';
    if (bytes === null || bytes === 0n) throw new EventLogError('invalid', describeLeftWal(path, bytes));
    return walOwnerOf(path);
  });
  if (owner === 'foreign') throw new EventLogError('invalid', describeForeignWal(path));
  if (owner === 'unknown' || (isServedFrom && owner !== 'nobody')) checkWhole(path, busyMs);
}

const describeLeftWal = (path: string, bytes: bigint | null): string =>
  `${path} is ${bytes === null ? 'missing' : 'empty'}, and ${path}-wal lies there, which belongs to the file that was there ` +
  'before and has its last events. Put that very file back; or, to go on without those events, move the -wal and the -shm away';

const describeForeignWal = (path: string): string =>
  `${path} is not the file that ${path}-wal belongs to: both together would be a mixture of two ledgers. Nothing was changed. ` +
  `Put the very file back that was there before; or, to use this one as it is, move ${path}-wal and ${path}-shm away`;

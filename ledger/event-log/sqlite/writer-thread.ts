import { checkFile } from './check-file.ts';
import { groupCommit } from './group-commit.ts';
import type { AppendedGroup, AppendGroup } from './messages.ts';
import { closeWithoutCheckpoint, openForAppends } from './open-database.ts';
import { OpenedFile } from './opened-file.ts';
import { runThread } from './run-thread.ts';
import { recordWal } from './wal-record.ts';
import { commitWhileInPlace } from './while-in-place.ts';

/** The one thread that writes: a message is a group of appends, its answer comes after the group's commit. */
runThread<AppendGroup, AppendedGroup>(({ path, busyMs, isServedFrom }) => {
  const { database, file } = OpenedFile.open(path, () => {
    checkFile({ path, busyMs, isServedFrom });
    return openForAppends(path, busyMs);
  });
  recordWal(path);
  return {
    file,
    answer: commitWhileInPlace(groupCommit(database, busyMs), file),
    close: () => {
      if (file.isOverwritten) closeWithoutCheckpoint(database, path, busyMs);
      else database.close();
    },
  };
});

import { checkFile } from './check-file.ts';
import { groupCommit } from './group-commit.ts';
import type { AppendGroup, WriteAnswer, WriteMessage } from './messages.ts';
import { closeWithoutCheckpoint, openForAppends } from './open-database.ts';
import { OpenedFile } from './opened-file.ts';
import { runThread } from './run-thread.ts';
import { recordWal } from './wal-record.ts';
import { commitWhileInPlace } from './while-in-place.ts';
import { WrittenLeaves } from './written-leaves.ts';

/** The one thread that writes: a message is a group of appends, its answer comes after the group's commit. */
runThread<WriteMessage, WriteAnswer>(({ path, busyMs, isServedFrom }) => {
  const { database, file } = OpenedFile.open(path, () => {
    checkFile({ path, busyMs, isServedFrom });
    return openForAppends(path, busyMs);
  });
  recordWal(path);
  const commit = commitWhileInPlace(groupCommit(database, busyMs), file);
  const leaves = new WrittenLeaves();
  return {
    file,
    answer: (message) =>
      isGroup(message)
        ? commit(message)
        : { type: 'leaves', page: file.trouble() === null ? leaves.page(message) : null },
    behind: (message, answer) => {
      if (isGroup(message) && answer.type !== 'leaves') leaves.add(message, answer);
    },
    close: () => {
      if (file.isOverwritten) closeWithoutCheckpoint(database, path, busyMs);
      else database.close();
    },
  };
});

function isGroup(message: WriteMessage): message is AppendGroup {
  return Array.isArray(message);
}

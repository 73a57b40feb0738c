import { groupCommit } from './group-commit.ts';
import type { AppendedGroup, AppendGroup } from './messages.ts';
import { openForAppends } from './open-database.ts';
import { runThread } from './run-thread.ts';

/** The one thread that writes: a message is a group of appends, its answer comes after the group's commit. */
runThread<AppendGroup, AppendedGroup>(({ path, busyMs }) => {
  const database = openForAppends(path, busyMs);
  return { answer: groupCommit(database, busyMs), close: () => database.close() };
});

import type { ReadAnswer, ReadMessage } from './messages.ts';
import { openForReads } from './open-database.ts';
import { readPages } from './read-pages.ts';
import { runThread } from './run-thread.ts';

/** Reads from a connection of its own, page by page: a long replay stands before no append and before no other read. */
runThread<ReadMessage, ReadAnswer>(({ path, busyMs }) => {
  const database = openForReads(path, busyMs);
  return { answer: readPages(database), close: () => database.close() };
});

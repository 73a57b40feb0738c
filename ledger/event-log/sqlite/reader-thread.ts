import type { ReadAnswer, ReadMessage } from './messages.ts';
import { openForReads } from './open-database.ts';
import { OpenedFile } from './opened-file.ts';
import { readPages } from './read-pages.ts';
import { runThread } from './run-thread.ts';
import { readWhileInPlace } from './while-in-place.ts';

/** Reads from a connection of its own, page by page: a long replay stands before no append and before no other read. */
runThread<ReadMessage, ReadAnswer>(({ path, busyMs }) => {
  const { database, file } = OpenedFile.open(path, () => openForReads(path, busyMs));
  return { file, answer: readWhileInPlace(readPages(database), file), close: () => database.close() };
});

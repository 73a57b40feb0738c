import type { PageSource } from './log-reader.ts';
import type { ReadAnswer, ReadMessage, ThreadData } from './messages.ts';
import { openForReads } from './open-database.ts';
import { OpenedFile } from './opened-file.ts';
import { readPages } from './read-pages.ts';
import { readWhileInPlace } from './while-in-place.ts';

/**
 * Reads as the reader's thread does, but in this one: for a command, which has nothing to do meanwhile that could not wait for a page.
 * What crosses between threads is written and read once more. @throws EventLogError as `openForReads`
 */
export function readHere({ path, busyMs }: Omit<ThreadData, 'isServedFrom'>): {
  readonly source: PageSource;
  /** Which file it is (OpenedFile). */
  readonly file: string | null;
} {
  const { database, file } = OpenedFile.open(path, () => openForReads(path, busyMs));
  const answer = readWhileInPlace(readPages(database), file);
  let onAnswer: (answer: ReadAnswer) => void = () => undefined;
  const source: PageSource = {
    listen: (listener) => {
      onAnswer = listener;
    },
    // In a turn of its own: whoever reads all of the log leaves the others theirs.
    send: (message: ReadMessage) => void setImmediate(() => onAnswer(answer(message))),
    // Behind what was asked for before.
    close: () =>
      new Promise((resolve) =>
        setImmediate(() => {
          database.close();
          resolve();
        }),
      ),
  };
  return { source, file: file.identity };
}

import type { ReadableLog } from '../../../contracts/event-log.ts';
import { LogReader } from './log-reader.ts';
import type { ReadAnswer, ReadMessage } from './messages.ts';
import { openOffline } from './open-offline.ts';
import { readPages } from './read-pages.ts';

/**
 * Reads a file of a ledger as a log, in this thread and by a connection that only reads, until `work` ends.
 *
 * @throws EventLogError `invalid` for what is no file of a ledger, or a damaged one; `unavailable` when it cannot be read
 */
export async function withLogFile<T>(path: string, work: (log: ReadableLog) => Promise<T>): Promise<T> {
  const { database, close } = openOffline(path);
  try {
    const answer = readPages(database);
    let onAnswer: (answer: ReadAnswer) => void = () => undefined;
    const reader = new LogReader({
      listen: (listener) => {
        onAnswer = listener;
      },
      send: (message: ReadMessage) => onAnswer(answer(message)),
      close: async () => undefined,
    });
    return await work({
      readAll: (options) => reader.readAll(options),
      readStream: (stream, options) => reader.readStream(stream, options),
      headPosition: () => reader.head(),
    });
  } finally {
    close();
  }
}

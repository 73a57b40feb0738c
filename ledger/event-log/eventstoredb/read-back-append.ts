import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { revision } from '../../../contracts/ids.ts';
import type { Append, AppendAnswer } from './append-answer.ts';
import type { LogReader } from './log-reader.ts';

/**
 * What became of an append whose outcome the server does not know, by what its stream has behind the expected revision:
 * the append table of contracts/event-log.ts, read instead of asked for. Null where nothing stands there yet, so that it
 * may still come. @throws EventLogError as a read
 */
export async function readBackAppend(
  reader: Pick<LogReader, 'readStream'>,
  { stream, expected, events }: Append,
): Promise<AppendAnswer | null> {
  let last: RecordedEvent | null = null;
  let isOurs = true;
  let found = 0;
  for await (const event of reader.readStream(stream, { from: revision(expected + 1), limit: events.length })) {
    isOurs &&= event.id === events[found]?.id;
    last = event;
    found++;
  }
  if (last === null) return null;
  if (isOurs && found === events.length)
    return { type: 'appended', lastRevision: last.revision, position: last.position };
  for await (const head of reader.readStream(stream, { direction: 'backwards', limit: 1 }))
    return { type: 'conflict', actualRevision: head.revision };
  return null;
}

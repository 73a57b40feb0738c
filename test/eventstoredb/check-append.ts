import type { Expected } from './append-outcome.ts';
import type { ProposedRecord } from './stored-event.ts';
import type { StoredStream } from './stored-stream.ts';

type Verdict = 'write' | 'wrong-expected-version' | 'stream-deleted' | AlreadyWritten;

/** The append was done before; the revision is that of its last event then. */
interface AlreadyWritten {
  readonly lastRevision: number;
}

/**
 * The server's rule for one append, in the order in which it asks (EventStoreDB, IndexWriter.CheckCommit).
 * With a revision the log itself is asked for the ids. Without one the server asks a memory of recent ids that a restart
 * empties; here it has none, for nobody may rely on it.
 */
export function checkAppend(options: {
  readonly stream: StoredStream | undefined;
  readonly hasMetadata: boolean;
  readonly expected: Expected;
  readonly events: readonly ProposedRecord[];
}): Verdict {
  const { stream, expected } = options;
  const current = stream?.lastRevision ?? -1;
  if (stream?.tombstoned) return 'stream-deleted';
  if (expected === 'stream_exists') {
    if (current === -1 && !options.hasMetadata) return 'wrong-expected-version';
    if (stream?.metadata.deletedSoftly) return 'stream-deleted';
  }
  if (expected === 'any' || expected === 'stream_exists') return 'write';
  if (expected < current && stream !== undefined) return checkRetry(stream, expected, options.events);
  return expected === current ? 'write' : 'wrong-expected-version';
}

function checkRetry(stream: StoredStream, expected: number, events: readonly ProposedRecord[]): Verdict {
  for (const [index, { id }] of events.entries()) {
    if (stream.events[expected + 1 + index]?.id === id) continue;
    if (index === 0 && expected === -1 && stream.metadata.deletedSoftly) return 'write';
    return 'wrong-expected-version';
  }
  return events.length === 0 ? 'wrong-expected-version' : { lastRevision: expected + events.length };
}

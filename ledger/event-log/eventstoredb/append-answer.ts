import { EventLogError, type ProposedEvent } from '../../../contracts/event-log.ts';
import { type Position, type Revision, revision, type StreamName } from '../../../contracts/ids.ts';

export interface Append {
  readonly stream: StreamName;
  readonly expected: Revision;
  readonly events: readonly ProposedEvent[];
}

/** An append under the name that its stream has on the server. */
export interface AppendOnServer extends Append {
  readonly onServer: string;
}

export type AppendAnswer =
  /** The position is null where the server does not tell it. */
  | { readonly type: 'appended'; readonly lastRevision: Revision; readonly position: Position | null }
  | { readonly type: 'conflict'; readonly actualRevision: Revision };

/**
 * What a server's success says of an append, by whichever call.
 * @throws EventLogError `ambiguous` where the revision is not the one that was due: a stream that was deleted goes on from
 *   its old revisions, and asked again, the server answers with a conflict
 */
export function appended({ expected, events }: Append, last: number, position: Position | null): AppendAnswer {
  const due = expected + events.length;
  if (last !== due)
    throw new EventLogError(
      'ambiguous',
      `EventStoreDB wrote up to revision ${last} where ${due} was due: was the stream deleted?`,
    );
  return { type: 'appended', lastRevision: revision(last), position };
}

export const conflict = (actual: number): AppendAnswer => ({ type: 'conflict', actualRevision: revision(actual) });

/** An append that its time has run out for: it may have been written all the same. */
export const unanswered = (timeMs: number, deadline: 'appendMs' | 'overtakenMs' = 'appendMs'): EventLogError =>
  new EventLogError('ambiguous', `EventStoreDB did not answer an append in ${timeMs} ms (${deadline})`);

import { EventLogError } from '../../../contracts/event-log.ts';
import type { AppendedGroup, AppendGroup, ReadAnswer, ReadMessage } from './messages.ts';
import type { FileTrouble, OpenedFile } from './opened-file.ts';

/** What the main thread is told where the log's file is not at its place. */
export class FileNotInPlaceError extends EventLogError {
  /** Another file is there, for good. */
  readonly isReplaced: boolean;

  constructor({ isReplaced, message }: FileTrouble) {
    super('unavailable', message);
    this.isReplaced = isReplaced;
  }
}

/**
 * Commits only to a file that is at its place. It is looked at again after the commit: what went to one that was taken
 * away meanwhile is not known to be in the log, and its retry finds out when the file is back.
 */
export const commitWhileInPlace =
  (commit: (group: AppendGroup) => AppendedGroup, file: OpenedFile) =>
  (group: AppendGroup): AppendedGroup => {
    const before = file.trouble();
    if (before !== null) return { type: 'failed', kind: 'unavailable', message: before.message };
    const answer = commit(group);
    const after = answer.type === 'committed' ? file.trouble() : null;
    return after === null ? answer : { type: 'failed', kind: 'ambiguous', message: after.message };
  };

/** Reads only a file that is at its place: what stands in another nobody else can see. */
export const readWhileInPlace =
  (read: (message: ReadMessage) => ReadAnswer, file: OpenedFile) =>
  (message: ReadMessage): ReadAnswer => {
    const trouble = file.trouble();
    return trouble === null ? read(message) : { type: 'not in place', sequence: message.sequence, ...trouble };
  };

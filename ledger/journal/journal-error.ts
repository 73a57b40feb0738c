import type { Shortage } from '../../contracts/shortage.ts';

/**
 * Why the journal cannot do what was asked.
 *
 *   in_use         another process has the folder open
 *   foreign_file   a file in the folder is no segment of a journal, or its header is damaged
 *   newer_version  a segment was written by a later release
 *   full           JournalFull
 *   input_output   a read, write or sync failed; `cause` has it. The journal is not writable any more
 *   closed         the journal was closed
 */
type JournalErrorKind = 'in_use' | 'foreign_file' | 'newer_version' | 'full' | 'input_output' | 'closed';

export class JournalError extends Error {
  override readonly name: string = 'JournalError';
  readonly kind: JournalErrorKind;

  constructor(kind: JournalErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Which bound is reached, or what the machine has too little of: room (space, quota, largest file), descriptors. */
export type JournalFullBound = 'bytesMax' | 'unfinishedMax' | Shortage;

/** No request may begin now. Nothing of the refused request stays in the journal; the next one may fit again. */
export class JournalFull extends JournalError {
  override readonly name = 'JournalFull';
  readonly bound: JournalFullBound;

  constructor(bound: JournalFullBound, message: string, options?: ErrorOptions) {
    super('full', message, options);
    this.bound = bound;
  }
}

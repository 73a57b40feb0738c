import { type Revision, revision, type StreamName } from '../contracts/ids.ts';

/** An event came to the views before one that stands before it in its stream: what feeds them lacks events. */
export class ViewGapError extends Error {
  override readonly name = 'ViewGapError';
  readonly stream: StreamName;
  /** Of the event that came. */
  readonly found: Revision;
  /** What did not come, as "revision 3" or "revisions 0 to 4". */
  readonly lacking: string;

  /** @param last the last revision that is folded, -1 where none is */
  constructor(stream: StreamName, { last, found }: { readonly last: number; readonly found: number }) {
    const lacking = found - last === 2 ? `revision ${last + 1}` : `revisions ${last + 1} to ${found - 1}`;
    super(`revision ${found} of ${stream} came, and ${lacking} did not`);
    this.stream = stream;
    this.found = revision(found);
    this.lacking = lacking;
  }
}

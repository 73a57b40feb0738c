/** What an append expects of its stream: a revision (-1 is NO_STREAM), or one of the two that check little. */
export type Expected = number | 'any' | 'stream_exists';

export type AppendOutcome =
  /** `written` is false where the events were there already; revision and position are then the old ones. */
  | {
      readonly type: 'success';
      readonly written: boolean;
      readonly revision: number;
      readonly position: number | null;
    }
  | { readonly type: 'wrong-expected-version'; readonly current: number; readonly expected: Expected }
  | { readonly type: 'stream-deleted' }
  | { readonly type: 'too-large'; readonly appendBytesMax: number };

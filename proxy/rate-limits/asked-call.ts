/** What a call takes of its key's and its account's limits while it is under way. */
export type CallKind = 'message' | 'stream' | 'count';

export interface AskedCall {
  readonly kind: CallKind;
  /** What its input is likely to be. A count generates nothing, and takes no tokens. */
  readonly inputTokens: number;
}

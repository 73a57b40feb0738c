/** As what a call is under way. */
export type CallKind = 'message' | 'stream' | 'count';

/** What is known of a call before its body is read: by its route. */
export type EnteringKind = Exclude<CallKind, 'stream'>;

/** What is known of a message when its body has been read. A count generates nothing, and takes no tokens. */
export interface AskedMessage {
  readonly isStream: boolean;
  /** What its input is likely to be. */
  readonly inputTokens: number;
}

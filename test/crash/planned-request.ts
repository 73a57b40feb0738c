import type { RequestCase } from './request-cases.ts';

export interface PlannedTokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
}

/** One request of a client, with what its upstream is told to do and when the client leaves. */
export interface PlannedRequest {
  /** Names it in the upstream's record. */
  readonly id: string;
  readonly model: string;
  readonly isStream: boolean;
  readonly maxTokens: number;
  readonly asksForFast: boolean;
  readonly script: {
    readonly id: string;
    readonly tokens: PlannedTokens;
    readonly events: number;
    readonly delayMs: number;
    readonly ending: string;
    readonly serviceTier: string;
    /** Tokens instead, where the request comes with this beta. */
    readonly underBeta?: { readonly beta: string; readonly tokens: PlannedTokens };
    readonly serverToolUse?: Readonly<Record<string, number>>;
    /** Of each event's text, at least. */
    readonly pieceBytes?: number;
  };
  /** After it was sent; null stays to the end. */
  readonly leaveAfterMs: number | null;
  /** Reads no more from the first piece on, and leaves after so long; null reads as fast as it can. */
  readonly stopsReadingMs: number | null;
  readonly case: RequestCase | 'plain';
  /** Whether the upstream reports no more than a gateway must expect. */
  readonly isKeepingWord: boolean;
  /** Its `anthropic-beta`. */
  readonly betas: readonly string[];
  /** Fields of its body beside, or instead of, the usual ones. */
  readonly more: Readonly<Record<string, unknown>>;
}

import type { Refusal } from '../../contracts/errors.ts';
import type { Caller } from '../authenticate.ts';

/** Where rate limits stand in a request's way: after the key and the model are known, before money is held. */
export interface RateLimit {
  /** Counts the request, or says when to come back. */
  take(caller: Caller, inputTokensGuess: number, nowMs: number): Refusal | null;
}

export const UNLIMITED: RateLimit = { take: () => null };

import { ConfigurationError } from '../../contracts/configuration.ts';
import { EventLogError } from '../../contracts/event-log.ts';
import { ToldShortageError } from '../../contracts/shortage.ts';

/** No further seal can be made with the key that there is. */
export class UnusableKeyError extends Error {
  override readonly name = 'UnusableKeyError';
}

const SAID_IN_FULL = [ConfigurationError, UnusableKeyError, EventLogError, ToldShortageError];

/** What says itself what is amiss, outside of the program, is told without where in the program it was found. */
export const whyOf = (error: unknown): { readonly reason: string } | { readonly err: unknown } =>
  error instanceof Error && SAID_IN_FULL.some((said) => error instanceof said)
    ? { reason: error.message }
    : { err: error };

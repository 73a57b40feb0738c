import type { Configuration } from '../contracts/configuration.ts';
import { LIMITS } from '../contracts/limits.ts';

/**
 * The longest that a request can take from its admission to its end: every upstream but the last fails just before its
 * first byte, the last takes all its time, and its end is read on for a client that has left.
 */
export function longestRequestMs({ providers, drainMs }: Pick<Configuration, 'providers' | 'drainMs'>): number {
  const all = Object.values(providers);
  const failing = Math.max(0, ...all.map(({ connectMs, firstByteMs }) => connectMs + firstByteMs));
  const lasting = Math.max(0, ...all.map(({ totalMs }) => totalMs));
  return (LIMITS.upstreamAttemptsMax - 1) * failing + lasting + drainMs;
}

/** The same until it is settled, too: as long as a lease that it was admitted under lasts beyond that. */
export const longestSettledMs = (configuration: Pick<Configuration, 'providers' | 'drainMs' | 'leases'>): number =>
  longestRequestMs(configuration) + configuration.leases.slackMs / 2;

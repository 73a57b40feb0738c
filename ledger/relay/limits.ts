import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';
import { FEED_LIMITS } from '../feed/limits.ts';

/** Bounds of the relay. */
export const RELAY_LIMITS = Object.freeze({
  /** What one send holds. A broker refuses by default what is over 1 MiB for one partition. */
  batchMessagesMax: 1_000,
  batchBytesMax: 512 * 1024,
  /** What a message has besides its data and its metadata. */
  messageOverheadBytes: 1_024,

  /** How long a claim is. A relay that was killed keeps others waiting for so long, and for the skew. */
  claimMs: 30_000,
  claimMsMin: 1_000,
  claimMsMax: 600_000,
  /** Part of a claim for which an active relay may fail to reach Kafka before it gives the claim back. */
  awayPart: 2,
  /** Part of a claim that clocks may differ by. */
  skewPart: 6,
  /** Between two looks at the claim: of who stands by at whether it is free, of the active one at its checkpoint. */
  checkMs: 1_000,
  /** Between two looks at how far the log is ahead. */
  lagCheckMs: 5_000,
  /** Events read in one look for what is not published yet. */
  lookEventsMax: 1_000,
});

assert(RELAY_LIMITS.batchBytesMax >= LIMITS.eventBytesMax, 'a batch holds any event');
assert(
  FEED_LIMITS.requestMs + FEED_LIMITS.connectMs < RELAY_LIMITS.claimMs / 2,
  'what is sent with half a claim left is answered before the claim is over',
);
assert(RELAY_LIMITS.claimMsMin <= RELAY_LIMITS.claimMs && RELAY_LIMITS.claimMs <= RELAY_LIMITS.claimMsMax);

import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';

const MIB = 1024 * 1024;

/** A longer event of a stream is neither kept nor read beyond this; the protocol's usage events have under 2 KiB. */
export const EVENT_BYTES_MAX = MIB;
/** Faults that one answer's usage records; they say which fields cannot be trusted, and the first few say it all. */
export const MALFORMED_MAX = 16;
/**
 * Kinds of uses that one answer's usage records; the protocol has a handful. All that a model can have prices for, and as
 * many again: what is beyond is told, and not billed.
 */
export const USE_NAMES_MAX = 2 * LIMITS.pricedUsesMax;
/** Characters of an upstream's error message that are kept. */
export const ERROR_MESSAGE_MAX = 2_000;
/** What a carry keeps between two events; above it the memory is given back. */
export const IDLE_CARRY_BYTES_MAX = 64 * 1024;

assert(IDLE_CARRY_BYTES_MAX <= EVENT_BYTES_MAX, 'an idle carry is no larger than a full one');
assert(EVENT_BYTES_MAX <= LIMITS.answerBytesMax, 'an event of a stream is no larger than an answer in one piece');

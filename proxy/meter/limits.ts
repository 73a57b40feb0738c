import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';
import { READ_VALUES_MAX } from '../upstream/limits.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** A longer event of a stream is neither kept nor read beyond this; the protocol's usage events have under 2 KiB. */
export const EVENT_BYTES_MAX = MIB;
/** A longer JSON answer is not parsed in one go, which would hold up all others: its long members are left out. */
export const ANSWER_PARSED_BYTES_MAX = MIB;
/** The longest member of such an answer that is read, and all of them together; the protocol's usage has under 2 KiB. */
export const MEMBER_BYTES_MAX = 12 * KIB;
export const MEMBERS_BYTES_MAX = 16 * KIB;
/** Events of one stream that begin as an object and are none; with so many nothing more of it is read, which is told of its usage. */
export const BROKEN_EVENTS_MAX = 1_000;
/** Faults that one answer's usage records; they say which fields cannot be trusted, and the first few say it all. */
export const MALFORMED_MAX = 16;
/** Kinds of uses recorded of an answer: all that can be priced, and as many more; the rest is told, not billed. */
export const USE_NAMES_MAX = 2 * LIMITS.pricedUsesMax;
/** Names that are looked at in one report of uses: all that can be recorded, and each fault that can be told. */
export const USE_NAMES_LOOKED_AT_MAX = USE_NAMES_MAX + MALFORMED_MAX;
/** Characters that are kept of a word of an answer which goes to the ledger; a name of a use may have no more. */
export const WORD_CHARS_MAX = 64;
/** Characters of an upstream's error message that are kept. */
export const ERROR_MESSAGE_MAX = 2_000;
/** What a partial event keeps between two events; above it the memory is given back. */
export const IDLE_PARTIAL_BYTES_MAX = 64 * KIB;

assert(IDLE_PARTIAL_BYTES_MAX <= EVENT_BYTES_MAX, 'an idle partial event is no larger than a full one');
assert(MEMBER_BYTES_MAX <= MEMBERS_BYTES_MAX, 'a member is no longer than all of them');
assert(MEMBERS_BYTES_MAX <= READ_VALUES_MAX, 'what is left of a long answer is read whatever it has in it');
assert(EVENT_BYTES_MAX <= LIMITS.answerBytesMax, 'an event of a stream is no larger than an answer in one piece');

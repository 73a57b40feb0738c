import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';

/** Accounts and keys of which something is remembered: who has calls under way, or has not its full minute again. */
export const REMEMBERED_MAX = 200_000;
/** Of those, how many are looked at for each new one, whether they can be forgotten. */
export const LOOKED_AT = 4;
/** What was taken beyond a limit is owed for so many minutes at the most: an answer may be longer than a minute's tokens. */
export const DEBT_MINUTES_MAX = 10;

assert(2 * LIMITS.requestsInFlightMax < REMEMBERED_MAX, 'whoever has requests under way is remembered');

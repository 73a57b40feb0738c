import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';

const KIB = 1024;

/**
 * A longer body is parsed, checked and weighed by another thread, and so is one with more values, however short it is:
 * they are what costs. Measured on the usual machine: 64 KiB of text take a tenth of a millisecond, 6,500 keys in 64 KiB
 * eleven milliseconds, as many values as may be read at once one to two at the worst, an agent's 40 KiB with 660 of them
 * 0.7; 32 MiB take one to two seconds, and a hop to a thread a tenth of a millisecond.
 */
export const READ_AT_ONCE_BYTES_MAX = 64 * KIB;
/** Brackets and commas outside of strings (json-scan.ts). */
export const READ_AT_ONCE_VALUES_MAX = 1_000;
/** A long body is kept in pieces of this length as it comes: no byte of it is copied a second time. */
export const PIECE_BYTES = 256 * KIB;
/** Of a long body or answer as many bytes come in a turn of the event loop: what Node reads of a connection at once. */
export const TURN_BYTES = 64 * KIB;
/**
 * Where answers bring more than that in a turn, all of them together, each waits for its turn that has brought as much as a
 * decoder gives out at once. A hundred events are less.
 */
export const TURN_BYTES_OF_ALL = 4 * TURN_BYTES;
export const TURN_BYTES_OF_MANY = 16 * KIB;
/**
 * As so many bytes each piece of an answer counts at the least: one of a byte is as much work as one of several hundred, and a read
 * of 64 KiB has ten thousand of them. Still a hundred events, of a piece each, are less.
 */
export const TURN_BYTES_OF_PIECE = 160;
/** Of what a body comes in the least on the average, but for the first pieces (crumbs.ts). */
export const CHUNK_BYTES_MIN = 64;
/** Pieces that may be of any length, one after the other. */
export const SHORT_CHUNKS_MAX = 4_096;
/** The same of a body that nobody reads. What it costs a client is its connection, for it has its answer all the same. */
export const UNWANTED_SHORT_CHUNKS_MAX = 64;

/** Threads that read long bodies: one of them for whoever has paid. With more, hostile ones would take the cores of those that serve. */
export const THREADS_MAX = 2;
/** Bodies that wait for a thread. Their bytes have a bound of their own (`bodies.maxBytes`). */
export const WAITING_MAX = 16_384;
/**
 * Of those, of one account: the others' long bodies find a place, however many one has under way. Far above what an account
 * may usually have under way at once (`concurrentRequests`), which is told as its limit; accounts take turns besides.
 */
export const WAITING_OF_ONE_MAX = 4_096;
/** A thread that has not read a body within this time is ended, and another takes its place. */
export const READING_MS_MAX = 60_000;
/** A thread that had nothing to do for so long is ended: the memory of what it has read goes with it. */
export const IDLE_MS = 60_000;
/** Of a thread's heap: the text of 32 MiB in two bytes a character, its values, and as much again. */
export const THREAD_HEAP_MIB_MAX = 512;
/** By how much a thread's priority is below that of those that serve (nice). */
export const THREAD_NICENESS = 5;

assert(READ_AT_ONCE_BYTES_MAX <= PIECE_BYTES, 'what is read at once is one piece');
assert(READ_AT_ONCE_VALUES_MAX < LIMITS.requestValuesMax, 'what has too many values is told by a thread');
assert(WAITING_OF_ONE_MAX < WAITING_MAX, 'one account leaves others a place');
assert(TURN_BYTES_OF_MANY < TURN_BYTES, 'where many come each waits earlier');
assert(100 * TURN_BYTES_OF_PIECE < TURN_BYTES_OF_MANY, 'a hundred events wait for no turn');
assert(PIECE_BYTES < LIMITS.requestBodyBytesMax, 'a body has many pieces');

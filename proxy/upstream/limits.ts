import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';

/** How deep, and how many values, an answer or an event is parsed with: what a model says in one has no more. */
export const READ_DEPTH_MAX = LIMITS.requestDepthMax;
export const READ_VALUES_MAX = 16 * 1024;

/**
 * So much may come that brings nothing of an answer, and as many times what is brought: what stands around chunks, and what
 * decodes to nothing.
 */
const IDLE_BYTES_MAX = 512 * 1024;
const IDLE_TIMES_MAX = 8;

export const isTooMuchFor = (brought: number, bytes: number): boolean =>
  bytes > IDLE_BYTES_MAX + IDLE_TIMES_MAX * brought;

assert(READ_VALUES_MAX <= LIMITS.requestValuesMax, 'an answer holds up others no longer than a request');

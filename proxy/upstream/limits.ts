import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';

/** How deep, and how many values, an answer or an event is parsed with: what a model says in one has no more. */
export const READ_DEPTH_MAX = LIMITS.requestDepthMax;
export const READ_VALUES_MAX = 16 * 1024;

assert(READ_VALUES_MAX <= LIMITS.requestValuesMax, 'an answer holds up others no longer than a request');

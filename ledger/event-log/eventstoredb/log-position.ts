import assert from 'node:assert/strict';
import { type Position, position } from '../../../contracts/ids.ts';

/**
 * The place of a record in the server's transaction file, in bytes. It has two halves, which differ only for the
 * explicit transactions of a protocol that is gone; one number is enough so long as they are the same.
 */
export function positionOf(commit: string, prepare: string): Position {
  assert(commit === prepare, `an event was written by one append: commit ${commit} is prepare ${prepare}`);
  return position(wholeNumber(commit));
}

/** A 64-bit number of the wire, which is text there. @throws AssertionError when a number of ours cannot hold it */
export function wholeNumber(text: string): number {
  const value = Number(text);
  assert(Number.isSafeInteger(value), `${text} is a whole number below 2^53`);
  return value;
}

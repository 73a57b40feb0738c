import assert from 'node:assert/strict';
import { type Position, position } from '../../../contracts/ids.ts';

/**
 * The place of a record in the server's transaction file, in bytes. It has two halves, which differ only for the
 * explicit transactions of a protocol that is gone; one number is enough so long as they are the same.
 */
export function positionOf(commit: number, prepare: number): Position {
  assert(commit === prepare, `an event was written by one append: commit ${commit} is prepare ${prepare}`);
  return position(wholeNumber(commit));
}

/** A 64-bit number of the wire, which the client's own code has as text. @throws AssertionError when a number of ours cannot hold it */
export function wholeNumber(of: string | number): number {
  const value = Number(of);
  assert(Number.isSafeInteger(value), `${of} is a whole number below 2^53`);
  return value;
}

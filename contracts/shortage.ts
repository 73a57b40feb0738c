/** What a machine has too little of for the moment: it may come back, and the same call then succeeds. */
export type Shortage = 'disk' | 'descriptors';

const CODES: ReadonlyMap<unknown, Shortage> = new Map([
  ['ENOSPC', 'disk'],
  ['EDQUOT', 'disk'],
  ['EFBIG', 'disk'],
  ['EMFILE', 'descriptors'],
  ['ENFILE', 'descriptors'],
]);

/** One that was met elsewhere, as by another process, in words of its own. */
export class ToldShortageError extends Error {
  readonly shortage: Shortage;

  constructor(message: string, shortage: Shortage) {
    super(message);
    this.shortage = shortage;
  }
}

/**
 * Of what the file system, or the network, had too little when it refused; null where it refused for another reason.
 * EIO is none: what was written before may be gone, and only reading it anew, by a process that starts, tells what is there.
 */
export function shortageOf(error: unknown): Shortage | null {
  if (error instanceof ToldShortageError) return error.shortage;
  return error instanceof Error && 'code' in error ? (CODES.get(error.code) ?? null) : null;
}

/** As Node has it where it has no more than words: EMFILE and ENFILE by their names, or in libuv's words. */
const NO_DESCRIPTOR = /\b(EMFILE|ENFILE|too many open files|file table overflow)\b/;

/**
 * Whether a thread has ended for want of a descriptor: to start by, or to read its modules. Node tells of the one, and of some
 * of the other, by codes of its own.
 */
export const lackedDescriptor = (ended: unknown): boolean =>
  shortageOf(ended) === 'descriptors' || (ended instanceof Error && NO_DESCRIPTOR.test(ended.message));

/** What a machine has too little of for the moment: it may come back, and the same call then succeeds. */
export type Shortage = 'disk' | 'descriptors';

const CODES: ReadonlyMap<unknown, Shortage> = new Map([
  ['ENOSPC', 'disk'],
  ['EDQUOT', 'disk'],
  ['EFBIG', 'disk'],
  ['EMFILE', 'descriptors'],
  ['ENFILE', 'descriptors'],
]);

/** Another process has met one, and has said so. */
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

import { messageOf } from '../../../contracts/message-of.ts';

/** What SQLite's result codes (https://www.sqlite.org/rescode.html) say of a transaction. */
const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_IOERR_WRITE = 778;
const SQLITE_IOERR_SHMSIZE = 4_874;
const SQLITE_NOTADB = 26;
/** Extended codes carry the plain one in their low byte. */
const PLAIN_CODE = 0xff;

/** Another connection holds what this one needs. */
export const isBusy = (fault: unknown): boolean => plainCodeOf(fault) === SQLITE_BUSY;

/** The file is something else, or what is in it was destroyed: no further try finds it whole. */
export const isDamage = (fault: unknown): boolean => {
  const code = plainCodeOf(fault);
  return code === SQLITE_NOTADB || code === SQLITE_CORRUPT;
};

/**
 * Whether a write may succeed later, as it is: somebody else held the file, the disk was full (which SQLite calls an I/O
 * error where it is a quota or the largest size of a file), or there was no descriptor for a file beside it.
 */
export const mayPass = (fault: unknown): boolean => {
  const code = plainCodeOf(fault);
  return code === SQLITE_BUSY || code === SQLITE_FULL || code === SQLITE_IOERR || code === SQLITE_CANTOPEN;
};

/** That there is no room for what was to be written: on the disk, by a quota, or in the largest file that there may be. */
export const isFull = (fault: unknown): boolean => {
  const code = codeOf(fault);
  return plainCodeOf(fault) === SQLITE_FULL || code === SQLITE_IOERR_WRITE || code === SQLITE_IOERR_SHMSIZE;
};

/** What an operator has to know of such a file. */
export const describeDamage = (path: string, fault: unknown): string =>
  `${path} is damaged, or no file of a ledger (${messageOf(fault)}). Put back a whole copy of it, without the -wal and -shm ` +
  'that lie there, which belong to the file before; where there is none, move it away: the gateway then says what is lost, and how that is accepted';

/**
 * Whether a COMMIT that failed surely wrote nothing: it never began, or the disk was full before its last page, without
 * which the rest counts for nothing. A failed sync is not among them: the pages may come back after a crash.
 */
export const wroteNothing = (fault: unknown): boolean => isBusy(fault) || plainCodeOf(fault) === SQLITE_FULL;

const codeOf = (fault: unknown): number | null =>
  fault instanceof Error && 'errcode' in fault && typeof fault.errcode === 'number' ? fault.errcode : null;

function plainCodeOf(fault: unknown): number | null {
  const code = codeOf(fault);
  return code === null ? null : code & PLAIN_CODE;
}

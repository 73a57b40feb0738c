import { closeSync, existsSync, lchownSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const ROOT = 0;
const OWNERS_ALONE = 0o600;

/**
 * What root has made in a folder of somebody else becomes that folder's owner's, as SQLite does with what it puts beside
 * a file: an operator's command must not leave what the service cannot read. To be called before anybody looks for it
 * under its name. Where it cannot be given (a file system without owners, a root without that right) it stays whose it
 * is, and whoever cannot use it is told so (want-of-rights.ts).
 */
export function giveToFolderOwner(path: string): void {
  if (process.geteuid?.() !== ROOT) return;
  try {
    const { uid, gid } = statSync(dirname(path));
    const is = lstatSync(path);
    // By the name itself: a link that somebody has put there leads to what is not ours to give.
    if (is.uid !== uid || is.gid !== gid) lchownSync(path, uid, gid);
  } catch {
    // As said above.
  }
}

/** Makes a file that SQLite is about to make, so that what SQLite puts beside it has the right owner, too. */
export function makeForFolderOwner(path: string): void {
  if (process.geteuid?.() !== ROOT || existsSync(path)) return;
  try {
    closeSync(openSync(path, 'wx', OWNERS_ALONE));
  } catch {
    // Another process was first, or SQLite says what is wrong.
    return;
  }
  giveToFolderOwner(path);
}

/**
 * Makes a folder with those above it where they are missing, each its own parent's owner's. Whether any was missing.
 * (The same by `recursive` of Node's own never ends where a folder takes no folders, such as /proc.)
 * @throws Error of the file system
 */
export function makeFolders(path: string): boolean {
  try {
    return makeFolder(path);
  } catch (error) {
    if (!isCode(error, 'ENOENT') || dirname(path) === path) throw error;
  }
  makeFolders(dirname(path));
  return makeFolder(path);
}

/** False where there is one. */
function makeFolder(path: string): boolean {
  try {
    mkdirSync(path);
  } catch (error) {
    if (isCode(error, 'EEXIST') && statSync(path).isDirectory()) return false;
    throw error;
  }
  giveToFolderOwner(path);
  return true;
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

import { accessSync, constants, existsSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

const { R_OK, W_OK, X_OK } = constants;
/** What SQLite keeps beside a file, and needs as much. */
const BESIDE = ['', '-wal', '-shm'];

/**
 * Why whoever runs this may not use a file, or make it where it is missing, and the way out: one sentence or two. Null where it
 * may, or where it is not rights that are wanting. To be asked once something has failed: a file that belongs to
 * somebody else is whole, and nothing has to be put back or moved away.
 */
export function wantOfRights(path: string): string | null {
  for (const folder of foldersAbove(path)) {
    if (isNoFolder(folder)) return null;
    if (!may(folder, X_OK)) return whose(folder);
  }
  if (!existsSync(path)) return may(dirname(path), W_OK | X_OK) ? null : whose(dirname(path));
  const files = BESIDE.map((end) => path + end).filter((file) => existsSync(file));
  const refused = files.find((file) => !may(file, R_OK | W_OK | (statSync(file).isDirectory() ? X_OK : 0)));
  return refused === undefined ? null : whose(refused);
}

/** The same of a fault of the file system, by the path that it names; null for any other fault. */
export function wantOfRightsOf(error: unknown): string | null {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) return null;
  if (error.code !== 'EACCES' && error.code !== 'EPERM') return null;
  return wantOfRights(String(error.path)) ?? `${error.message}: whoever runs this has no right to do that`;
}

/** From the topmost. */
function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [...foldersAbove(above), above];
}

/** Nor is what nobody can look at: of too long a name, or behind a circle of links. */
function isNoFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    return true;
  }
}

/** What is not there, or is amiss in another way, is not wanting rights. */
function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM'));
  }
}

function whose(path: string): string {
  const user = process.geteuid?.() ?? 0;
  const { uid, mode, isFolder } = look(path);
  if (uid === user)
    return `${path} (mode ${mode}) is closed to its own owner, uid ${user}, which runs this: chmod u+rw${isFolder ? 'x' : ''} ${path}`;
  const group = process.getegid?.() ?? 0;
  const all = isFolder ? path : dirname(path);
  return (
    `${path} belongs to uid ${uid} (mode ${mode}), and uid ${user}, which runs this, may not use it. Run this as its owner; ` +
    `or, where all of ${all} should be this user's: chown -R ${user}:${group} ${all}`
  );
}

function look(path: string): { readonly uid: number; readonly mode: string; readonly isFolder: boolean } {
  const is: Stats = statSync(path);
  return { uid: is.uid, mode: `0${(is.mode & 0o777).toString(8)}`, isFolder: is.isDirectory() };
}

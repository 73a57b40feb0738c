import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { UnreadableFileError } from '../ledger/unreadable-file.ts';
import { wantOfRights } from '../ledger/want-of-rights.ts';
import { renameViews } from './remove-views.ts';

/** Rows that were restored cannot be read when they are asked for. */
export class DamagedViewsError extends UnreadableFileError {
  readonly damage: string;

  constructor(path: string, damage: string, { aside }: { readonly aside: string | null }) {
    const how = aside === null ? '' : `, and was set aside as ${aside}: the next start makes it anew`;
    super(`${path} cannot be read as views (${damage})${how}`);
    this.damage = damage;
  }
}

/** SQLite's codes for what another try, or the machine's owner, can mend: the file may be whole. */
const NOT_THE_FILE: ReadonlySet<number> = new Set([
  5, // busy
  6, // locked
  7, // no memory
  10, // input or output failed
  13, // the disk is full
  14, // cannot be opened
]);
/** Tables that a file of views has, the one or the other from its first moment on. */
const OF_VIEWS = ['stored_view', 'of_ledger'];

/**
 * What reads a views' file; the reason instead, where what is in it cannot be read as views. @throws UnreadableFileError
 * where whoever runs this may not read it; the error where it is not the file's fault either
 */
export function readUndamaged<T>(
  path: string,
  read: () => T,
): { readonly read: T; readonly damage: null } | { readonly damage: string } {
  try {
    return { read: read(), damage: null };
  } catch (error) {
    return { damage: whyDamaged(path, error) };
  }
}

/** Why reading a views' file has failed, where that is the file's fault. @throws as `readUndamaged` */
export function whyDamaged(path: string, error: unknown): string {
  const lacking = wantOfRights(path);
  if (lacking !== null) throw new UnreadableFileError(lacking, { cause: error });
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return 'it is a folder';
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : null;
  if (code !== null && NOT_THE_FILE.has(code)) throw error;
  return error instanceof Error ? error.message : String(error);
}

/**
 * Why a file cannot be views; null where it can, or there is none. Looks at its beginning and its length: what is damaged further
 * inside is found by who reads it (damaged-rows.ts). @throws as `readUndamaged`
 */
export function damageOf(path: string): string | null {
  if (!existsSync(path)) return null;
  if (statSync(path).size === 0) return 'it is empty';
  const looked = readUndamaged(path, () => lookAt(path));
  return looked.damage ?? looked.read;
}

function lookAt(path: string): string | null {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const isOther = tables.length > 0 && !tables.some(({ name }) => OF_VIEWS.includes(String(name)));
    return isOther ? 'it is a database of something else' : null;
  } finally {
    database.close();
  }
}

/** Moves it away, with what is beside it: a cache is made anew. Nobody else has it open. Returns the new name. */
export function setDamagedViewsAside(path: string): string {
  for (let count = 1; ; count++) {
    const aside = `${path}.damaged${count === 1 ? '' : `.${count}`}`;
    if (existsSync(aside)) continue;
    renameViews(path, aside);
    return aside;
  }
}

import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from '../ledger/sync-folder.ts';

/** A file of views that nobody has open, with what SQLite has put beside it. */
export function removeViews(path: string): void {
  for (const beside of ['', ...BESIDE]) rmSync(path + beside, { force: true });
}

/** Likewise. What is there under the new name goes. */
export function renameViews(from: string, to: string): void {
  removeViews(to);
  renameSync(from, to);
  for (const beside of BESIDE) if (existsSync(from + beside)) renameSync(from + beside, to + beside);
  syncFolder(dirname(from));
}

const BESIDE = ['-wal', '-shm'] as const;

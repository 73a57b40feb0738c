import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from '../ledger/sync-folder.ts';

/** A file of views that nobody has open, with what SQLite has put beside it. */
export function removeViews(path: string): void {
  for (const beside of ['', ...BESIDE]) rmSync(path + beside, { force: true });
}

/** A file of views, with what SQLite has put beside it, under another name; what is there goes. Who has it open reads on in it. */
export function renameViews(from: string, to: string): void {
  removeViews(to);
  renameSync(from, to);
  for (const beside of BESIDE) if (existsSync(from + beside)) renameSync(from + beside, to + beside);
  syncFolder(dirname(from));
}

const BESIDE = ['-wal', '-shm'] as const;

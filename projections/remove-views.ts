import { rmSync } from 'node:fs';

/** A file of views that nobody has open, with what SQLite has put beside it. */
export function removeViews(path: string): void {
  for (const beside of ['', '-wal', '-shm']) rmSync(path + beside, { force: true });
}

import { statSync } from 'node:fs';
import { MARK } from './closed-mark.ts';
import { hasTable } from './known-views.ts';

/**
 * Whether whoever wrote a views' file last has closed it, with all in the file itself. One that lies beside a `-wal` has not been: it is
 * of a process that was killed, or was put back beside what another file has left. @throws Error when the file is no database
 */
export function wasClosedWhole(path: string): boolean {
  const walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return walBytes === 0 && hasTable(path, MARK);
}

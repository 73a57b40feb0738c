import { type BigIntStats, statSync } from 'node:fs';

/** As bigints, because an inode can be above 2^53; null where nothing is there. @throws Error of the file system */
export const lookAt = (path: string): BigIntStats | null =>
  statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;

/** Which of the files that are there now; null where the file system tells files apart by nothing. */
export const identityOf = ({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): string | null =>
  ino === 0n ? null : `${dev}:${ino}`;

/** Which of the files that ever were there, for an inode is used again; null where a file's birth is not told. */
export function identityForEver(found: Pick<BigIntStats, 'dev' | 'ino' | 'birthtimeNs'>): string | null {
  const identity = identityOf(found);
  return identity === null || found.birthtimeNs === 0n ? null : `${identity}:${found.birthtimeNs}`;
}

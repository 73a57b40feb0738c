import { statfsSync } from 'node:fs';
import { groupedCount } from '../contracts/money.ts';

const MIB = 1024 ** 2;

/** At the disk of a file or folder that is there. @throws Error of the system */
export function freeBytesAt(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** Room that is there is told as no more than it is; `Math.ceil` tells room that is needed as no less. */
export const mebibytes = (bytes: number, round: (of: number) => number = Math.floor): string =>
  `${groupedCount(round(bytes / MIB))} MiB`;

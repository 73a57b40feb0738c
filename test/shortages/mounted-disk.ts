import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shortageOf } from '../../contracts/shortage.ts';

/** A file system of its own in memory, which can be filled to its last block. */
export interface MountedDisk {
  /** Leaves no more than so many bytes free, in whole blocks. */
  leaveFree(bytes: number): void;
  /** Takes the filling away again. */
  clear(): void;
  /** Takes nothing from here on. Nobody has a file of it open for writing. */
  makeReadOnly(): void;
  unmount(): void;
}

const FILLER = 'filler';

/** Whether a file system can be mounted here: that takes rights which a test run need not have. */
export const canMount = ((): boolean => {
  const folder = mkdtempSync(join(tmpdir(), 'can-mount-'));
  try {
    mountDisk(folder, 64).unmount();
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
})();

/** Mounts one at a folder, which is made where it is missing. @throws Error without the rights to */
export function mountDisk(folder: string, kibibytes: number): MountedDisk {
  mkdirSync(folder, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k,mode=700`, 'tmpfs', folder], { stdio: 'pipe' });
  const filler = join(folder, FILLER);
  return {
    leaveFree: (bytes) => {
      const { bavail, bsize } = statfsSync(folder);
      try {
        const taken = Math.max(0, bavail * bsize - Math.ceil(bytes / bsize) * bsize);
        writeFileSync(filler, Buffer.alloc(taken), { flag: 'a' });
      } catch (error) {
        // Somebody else has written meanwhile: then it is full.
        if (shortageOf(error) !== 'disk') throw error;
      }
    },
    clear: () => truncateSync(filler),
    makeReadOnly: () => execFileSync('mount', ['-o', 'remount,ro', folder], { stdio: 'pipe' }),
    // Also where a failed test has left a file open.
    unmount: () => execFileSync('umount', ['--lazy', folder], { stdio: 'pipe' }),
  };
}

import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackedUpFile } from './manifest.ts';

/** Every file of a folder and of the folders in it, by their paths from it, in their order. */
export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) =>
      entry.isDirectory() ? readdirSync(join(folder, entry.name)).map((name) => `${entry.name}/${name}`) : [entry.name],
    )
    .sort();

const CHUNK_BYTES = 1 << 20;

/** What a file holds, once it is on disk. @throws Error of the file system */
export async function readBackedUpFile(folder: string, path: string): Promise<BackedUpFile> {
  const hash = createHash('sha256');
  const handle = await open(join(folder, path), 'r');
  try {
    await handle.sync();
    let bytes = 0;
    for (const buffer = Buffer.allocUnsafe(CHUNK_BYTES); ; ) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES);
      if (bytesRead === 0) return { path, bytes, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await handle.close();
  }
}

import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes what was created in, renamed in or removed from a folder durable. */
export function syncFolder(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

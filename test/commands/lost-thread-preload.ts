import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded before a program (`node --import`), and so in each of its threads: the one whose module has the name in
 * LOST_THREAD throws once the file LOST_THREAD_FILE is there.
 */
const { LOST_THREAD = '', LOST_THREAD_FILE = '' } = process.env;
const LOOK_MS = 20;

if (!isMainThread && process.argv[1]?.endsWith(LOST_THREAD) === true) {
  endIfTold();
  setInterval(endIfTold, LOOK_MS).unref();
}

function endIfTold(): void {
  if (existsSync(LOST_THREAD_FILE)) throw new Error('out of memory, say');
}

import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded before a program (`node --import`), and so in each of its threads: the one whose module has the name in
 * HELD_THREAD loads that module once the file HELD_THREAD_FILE is gone.
 */
const { HELD_THREAD = '', HELD_THREAD_FILE = '' } = process.env;
const LOOK_MS = 20;
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

if (!isMainThread && process.argv[1]?.endsWith(HELD_THREAD) === true)
  while (existsSync(HELD_THREAD_FILE)) Atomics.wait(never, 0, 0, LOOK_MS);

import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded before a gateway and what it starts (NODE_OPTIONS): while the file KILLED_REBUILD_FILE is there, a rebuild of the
 * views is killed once it has begun, as the kernel does where there is no memory for it.
 */
const isRebuild = isMainThread && process.argv.includes('rebuild');

if (isRebuild && existsSync(process.env.KILLED_REBUILD_FILE ?? '')) process.kill(process.pid, 'SIGKILL');

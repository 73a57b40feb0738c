import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One folder for all that a test run puts on disk (through `os.tmpdir`), removed when it ends, however its workers ended. */
export function setup(): () => void {
  const root = mkdtempSync(join(tmpdir(), 'gateway-tests-'));
  process.env.TMPDIR = root;
  // Hundreds of processes of the gateway are started, each of which would compile the same files.
  process.env.NODE_COMPILE_CACHE = join(root, 'compile-cache');
  return () => rmSync(root, { recursive: true, force: true });
}

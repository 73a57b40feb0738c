import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProxyId, proxyId, uuidV7 } from '../contracts/ids.ts';
import { messageOf } from '../contracts/message-of.ts';
import { replaceFile } from '../ledger/replace-file.ts';
import { UnreadableFileError } from '../ledger/unreadable-file.ts';
import { wantOfRightsOf } from '../ledger/want-of-rights.ts';

const FILE = 'proxy-id';
const PATTERN = /^proxy_[0-9a-f]{32}$/;

/**
 * The name by which other proxies know this one: it belongs to the data folder, and a process claims it in the log before
 * it uses it (claim/proxy-claim.ts). Asked for by who has locked the folder. @throws UnreadableFileError when the file holds something else, or cannot be read; Error when it cannot be written.
 */
export function proxyIdOf(dataFolder: string, nowMs: number): ProxyId {
  const file = join(dataFolder, FILE);
  const kept = readKept(file);
  if (kept !== null) {
    if (PATTERN.test(kept)) return proxyId(kept);
    throw new UnreadableFileError(`${file} holds no proxy's name; delete it, and this proxy gets a new one`);
  }
  return make(file, nowMs);
}

/** Another folder has this one's name: from here on it has a new one. */
export const takeNewProxyId = (dataFolder: string, nowMs: number): ProxyId => make(join(dataFolder, FILE), nowMs);

function make(file: string, nowMs: number): ProxyId {
  const made = `proxy_${uuidV7(nowMs, randomBytes(10)).replaceAll('-', '')}`;
  replaceFile(file, `${made}\n`);
  return proxyId(made);
}

function readKept(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new UnreadableFileError(wantOfRightsOf(error) ?? `${file} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

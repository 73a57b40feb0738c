import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where `npm run clients` puts the clients of other ecosystems; none of them is a dependency. */
export const CLIENTS = fileURLToPath(new URL('../../.clients', import.meta.url));

/** Written last: what is there without it was fetched in part. */
export const fetchedMark = (name: string): string => join(CLIENTS, name, 'fetched');

/** The folder of a client; null where it was not fetched. */
export function fetchedClient(name: 'agent' | 'python' | 'java' | 'go' | 'compose'): string | null {
  return existsSync(fetchedMark(name)) ? join(CLIENTS, name) : null;
}

/** Whether a program is to be had by its name. */
export function isInPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
}

/** Where a coding agent's binary is; null where it was not fetched, or none exists for this machine. */
export function codingAgent(): string | null {
  const folder = fetchedClient('agent');
  if (folder === null) return null;
  const binary = join(
    folder,
    'node_modules/@anthropic-ai',
    `claude-code-${process.platform}-${process.arch}`,
    'claude',
  );
  return existsSync(binary) && spawnSync(binary, ['--version']).status === 0 ? binary : null;
}

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Configuration } from '../../../contracts/configuration.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', 'main.mjs');
/** Of what it has said, from the end. */
const SAID_CHARACTERS = 2_000;

/**
 * `gateway projections rebuild --all` in a process of its own, on what this one was configured with. It ends with the signal.
 * Killed together with this one, or not, it leaves nothing wrong. @throws Error where it ends with any code but 0
 */
export async function rebuildInProcess(configuration: Configuration, signal: AbortSignal): Promise<string> {
  const stdin = unnamedFile(configuration);
  const args = ['--disable-sigusr1', PROGRAM, 'projections', 'rebuild', '--all', '--config', '/dev/stdin'];
  // Of a session of its own, or what gives way there is this process, too.
  const child = spawn(process.execPath, args, { stdio: [stdin, 'pipe', 'pipe'], signal, detached: true });
  closeSync(stdin);
  // Where it could not be started for want of a descriptor it has neither, and its end says why.
  const [said, faults] = [lastOf(child.stdout), lastOf(child.stderr)];
  const [code, killedBy] = (await once(child, 'close')) as [number | null, string | null];
  if (code !== 0) throw new Error(`it ended with ${code ?? killedBy}: ${faults().trim()}`);
  return said().trim();
}

/**
 * What of the configuration the rebuild needs, as a file without a name, for there may be a password in it: what this program
 * itself has read may be a pipe, or another file by now, and Node's own pipes are sockets, which no program can open.
 */
function unnamedFile({ data, eventLog, projections }: Configuration): number {
  const path = join(data, `rebuild-${randomUUID()}.json`);
  const file = openSync(path, 'wx+', 0o600);
  try {
    rmSync(path);
    // At its beginning, where it is read from.
    writeSync(file, JSON.stringify({ data, eventLog, projections }), 0);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function lastOf(stream: Readable | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-SAID_CHARACTERS);
  });
  return () => text;
}

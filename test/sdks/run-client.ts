import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a client has printed when it ended with 0. */
export interface ClientRun {
  readonly command: string;
  readonly arguments: readonly string[];
  /** Beside PATH and a HOME of its own: nothing that a developer has set may lead a client past the gateway. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A new folder where it is not given. */
  readonly cwd?: string;
  readonly input?: string;
}

/** Longer than any of them takes on a busy machine: a client that hangs is killed. */
const CLIENT_MS = 240_000;

/** Runs a client as a user would, without any proxy between it and loopback. @throws Error with what it printed where it does not end with 0 */
export async function runClient({ command, arguments: args, environment, cwd, input }: ClientRun): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'gateway-client-'));
  const { PATH = '', GOPATH, GOCACHE, GOMODCACHE, HOME = home } = process.env;
  const goHome = {
    GOPATH: GOPATH ?? join(HOME, 'go'),
    GOCACHE: GOCACHE ?? join(HOME, '.cache/go-build'),
    ...(GOMODCACHE === undefined ? {} : { GOMODCACHE }),
  };
  const child = spawn(command, args, {
    cwd: cwd ?? home,
    env: { PATH, HOME: home, NO_PROXY: '127.0.0.1', ...goHome, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: CLIENT_MS,
    killSignal: 'SIGKILL',
  });
  child.stdin.end(input ?? '');
  const [out, err, code] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve)),
  ]);
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${out}${err}`);
  return out;
}

const textOf = async (stream: AsyncIterable<Buffer>): Promise<string> =>
  Buffer.concat(await Array.fromAsync(stream)).toString();

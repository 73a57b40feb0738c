import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export const PROGRAM = fileURLToPath(new URL('../../proxy/main.ts', import.meta.url));

export interface ProgramRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program `gateway` to its end, as a shell would. */
export async function runProgram(...args: string[]): Promise<ProgramRun> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { exitCode: Number(code), stdout, stderr };
}

/** The one JSON value that a command prints with `--json`. @throws Error when it did not end with 0 */
export async function runForJson(...args: string[]): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await runProgram('--json', ...args);
  if (exitCode !== 0) throw new Error(`gateway ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Starts `gateway serve` and resolves with its first line of JSON. */
export async function serve(
  ...args: string[]
): Promise<{ child: ChildProcess; ready: { url: string; key?: string; begun?: string } }> {
  const child = spawn(process.execPath, [PROGRAM, '--json', 'serve', '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [unknown];
  if (typeof line !== 'string') throw new Error(`gateway serve ended with ${String(line)} before it was ready`);
  return { child, ready: JSON.parse(line) };
}

export async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
  const ended = once(child, 'exit');
  child.kill(signal);
  const [code] = await ended;
  return code;
}

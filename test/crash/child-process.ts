import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface StartedProcess {
  readonly child: ChildProcess;
  /** The first line on stdout, parsed. Rejects when the process ends before it, or is too slow. */
  readonly firstLine: Promise<{ readonly url: string }>;
  /** Resolves with the exit code, null after a signal. */
  readonly ended: Promise<number | null>;
}

/** However this process ends, its children do not outlive it. */
const living = new Set<ChildProcess>();
process.once('exit', killStarted);

/** `kill -9` to every process that was started here and lives. For a test whose time ran out in the middle of a run. */
export function killStarted(): void {
  for (const child of living) child.kill('SIGKILL');
}

const START_MS_MAX = 120_000;
const END_MS_MAX = 180_000;

/** Starts a Node program that tells with one line of JSON when it is ready. Its stderr goes to a file. */
export function startProcess(
  args: readonly string[],
  options: { readonly stderrFd: number; readonly environment?: Readonly<Record<string, string>> },
): StartedProcess {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', options.stderrFd],
    env: { ...process.env, ...options.environment },
  });
  living.add(child);
  const ended = once(child, 'exit').then(([code]) => {
    living.delete(child);
    return typeof code === 'number' ? code : null;
  });
  const firstLine = readFirstLine(child, args);
  // Whoever kills a process before it is ready does not wait for its line.
  firstLine.catch(() => undefined);
  return { child, firstLine, ended };
}

async function readFirstLine(child: ChildProcess, args: readonly string[]): Promise<{ url: string }> {
  if (child.stdout === null) throw new Error('a process was started without stdout');
  const lines = createInterface({ input: child.stdout });
  const tooSlow = setTimeout(() => lines.close(), START_MS_MAX);
  try {
    for await (const line of lines) return JSON.parse(line);
  } finally {
    clearTimeout(tooSlow);
  }
  throw new Error(`node ${args.join(' ')} was not ready within ${START_MS_MAX} ms, or ended before`);
}

/** `kill -9`, and waits until the process is gone. */
export async function killAtOnce({ child, ended }: StartedProcess): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

/** SIGTERM, and waits for the end in order. @throws Error when it does not end in time, or not with code 0. */
export async function stopInOrder({ child, ended }: StartedProcess): Promise<void> {
  const tooSlow = setTimeout(() => child.kill('SIGKILL'), END_MS_MAX);
  child.kill('SIGTERM');
  const code = await ended;
  clearTimeout(tooSlow);
  if (code !== 0) throw new Error(`a process ended with ${code ?? 'a signal'} after SIGTERM, not with 0`);
}

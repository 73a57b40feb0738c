import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const READY_MS_MAX = 30_000;
const STOP_MS_MAX = 15_000;
const LOG_TAIL_BYTES = 2_000;
const EXIT_INTERRUPTED = 130;

interface SpawnOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Where the process's standard output goes: to its log, or to us. */
  readonly stdout?: 'log' | 'pipe';
}

/**
 * The processes of a run, each in a process group of its own, and the folder that they write in. Whatever way the run
 * ends, short of kill -9, they go with it: asked to end and waited for where there is time, killed by the group where
 * there is none.
 */
export class Processes {
  readonly folder = mkdtempSync(join(tmpdir(), 'bench-'));
  readonly #children = new Map<string, ChildProcess>();

  constructor() {
    process.on('exit', () => this.#endAll());
    let isStopping = false;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        if (isStopping) process.exit(EXIT_INTERRUPTED);
        isStopping = true;
        this.stopAll().then(
          () => process.exit(EXIT_INTERRUPTED),
          (error: unknown) => {
            process.stderr.write(`bench: ${String(error)}\n`);
            process.exit(EXIT_INTERRUPTED);
          },
        );
      });
  }

  spawn(name: string, command: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const [file = '', ...rest] = command;
    const log = openSync(this.#logOf(name), 'a');
    const child = spawn(file, rest, {
      detached: true,
      env: { ...process.env, ...options.environment },
      stdio: ['ignore', options.stdout === 'pipe' ? 'pipe' : log, log],
    });
    return this.#keep(name, child);
  }

  /** A Node process of ours that talks with us over IPC. */
  fork(
    name: string,
    script: URL,
    nodeOptions: readonly string[] = [],
    programArguments: readonly string[] = [],
  ): ChildProcess {
    return this.#keep(
      name,
      fork(script, programArguments, {
        detached: true,
        execArgv: [...process.execArgv, ...nodeOptions],
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    );
  }

  /** Asks a process to end, waits for it, and insists after 15 s. */
  async stop(name: string): Promise<void> {
    const child = this.#children.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const inTime = await Promise.race([ended.then(() => true), setTimeout(STOP_MS_MAX, false, { ref: false })]);
    // Whatever of its own it has left behind goes with it.
    this.#endGroup(child);
    if (!inTime) await ended;
    this.#children.delete(name);
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#children.keys()].map((name) => this.stop(name)));
  }

  /** @throws Error with the end of its log when the process ends, or does not listen within 30 s. */
  async untilListening(name: string, port: number): Promise<void> {
    const deadline = Date.now() + READY_MS_MAX;
    while (!(await accepts(port))) {
      const child = this.#children.get(name);
      if (child === undefined || child.exitCode !== null || Date.now() > deadline)
        throw new Error(`${name} does not listen on ${port}:\n${this.logTail(name)}`);
      await setTimeout(50);
    }
  }

  logTail(name: string): string {
    return readFileSync(this.#logOf(name), 'utf8').slice(-LOG_TAIL_BYTES);
  }

  #logOf(name: string): string {
    return join(this.folder, `${name}.log`);
  }

  #keep(name: string, child: ChildProcess): ChildProcess {
    // Seen by whoever waits for it to be ready; without a listener it would end the run without a word of why.
    child.on('error', (error) => process.stderr.write(`bench: ${name}: ${error.message}\n`));
    this.#children.set(name, child);
    return child;
  }

  #endAll(): void {
    for (const child of this.#children.values()) this.#endGroup(child);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #endGroup(child: ChildProcess): void {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch (error) {
      // Nobody of it is left.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

/** A port of loopback that was free a moment ago, for programs that cannot say which one they took. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a listening server has a port');
  return address.port;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    // Not yet: whoever asks tries again, up to its deadline.
    return false;
  } finally {
    socket.destroy();
  }
}

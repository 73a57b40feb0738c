import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type StartedProcess, startProcess } from '../fixtures/processes/child-process.ts';
import { GATEWAY_PROGRAM } from '../fixtures/processes/gateway-command.ts';

/** The program of the commit at which this runs, on one data folder, with its clock moved. */
export interface OldProgram {
  readonly clockOffsetMs: number;
  /** What a command answers with --json. */
  command(...args: readonly string[]): Promise<Answered>;
  /** Likewise, one JSON value a line. */
  lines(...args: readonly string[]): Promise<Answered[]>;
  serve(): StartedProcess;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of a program of another time, kept as they are
type Answered = any;

interface OldProgramOptions {
  readonly configPath: string;
  readonly stderrFd: number;
  readonly clockOffsetMs: number;
}

const PRELOAD = fileURLToPath(new URL('hurried-clock.ts', import.meta.url));

export function oldProgram({ configPath, stderrFd, clockOffsetMs }: OldProgramOptions): OldProgram {
  const environment = { CLOCK_OFFSET_MS: String(clockOffsetMs), TEST_UPSTREAM_KEY: 'upstream-secret' };
  const program = ['--import', PRELOAD, GATEWAY_PROGRAM, '--config', configPath, '--json'];
  const lines = async (args: readonly string[]): Promise<Answered[]> => {
    const env = { ...process.env, ...environment };
    const { stdout } = await promisify(execFile)(process.execPath, [...program, ...args], { env });
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  };
  return {
    clockOffsetMs,
    command: async (...args) => (await lines(args))[0],
    lines: (...args) => lines(args),
    serve: () => startProcess([...program, 'serve'], { stderrFd, environment }),
  };
}

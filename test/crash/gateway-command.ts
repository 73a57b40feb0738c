import { fileURLToPath } from 'node:url';
import { runHere } from '../commands/run-here.ts';

export const GATEWAY_PROGRAM = fileURLToPath(new URL('../../proxy/main.ts', import.meta.url));
export const UPSTREAM_PROGRAM = fileURLToPath(new URL('../upstream/main.ts', import.meta.url));

/** A command that did not end with 0. */
class GatewayCommandError extends Error {
  /** Its exit code. */
  readonly code: number;

  constructor(args: readonly string[], code: number, stderr: string) {
    super(`gateway ${args.join(' ')} ended with ${code}: ${stderr}`);
    this.code = code;
  }
}

/**
 * Carries out one command of the gateway program with --json and returns what it printed: in this process, because
 * starting one costs more than the command does. @throws GatewayCommandError when it fails
 */
export async function gatewayCommand(configPath: string, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runHere('--config', configPath, '--json', ...args);
  if (exitCode !== 0) throw new GatewayCommandError(args, exitCode, stderr);
  return stdout;
}

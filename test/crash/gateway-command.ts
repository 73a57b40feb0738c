import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const GATEWAY_PROGRAM = fileURLToPath(new URL('../../proxy/main.ts', import.meta.url));
export const UPSTREAM_PROGRAM = fileURLToPath(new URL('../upstream/main.ts', import.meta.url));

const COMMAND_MS_MAX = 180_000;
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

/** Runs one command of the gateway program with --json and returns what it printed. @throws Error when it fails. */
export async function gatewayCommand(configPath: string, ...args: readonly string[]): Promise<string> {
  const program = [GATEWAY_PROGRAM, '--config', configPath, '--json', ...args];
  const { stdout } = await promisify(execFile)(process.execPath, program, {
    timeout: COMMAND_MS_MAX,
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  return stdout;
}

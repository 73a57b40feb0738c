import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DESCRIPTORS_MIN, fewDescriptors } from '../../../../proxy/program/serve/enough-descriptors.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

const PROGRAM = fileURLToPath(new URL('../../../../proxy/main.mjs', import.meta.url));
const EXIT_USAGE = 2;
const limits = (soft: string) =>
  `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}    4096    files\n`;

describe('the descriptors of a process', () => {
  it('are too few below the bound, and enough at it', () => {
    expect(fewDescriptors(limits(String(DESCRIPTORS_MIN)))).toBeNull();
    expect(fewDescriptors(limits('unlimited'))).toBeNull();
    expect(fewDescriptors(limits(String(DESCRIPTORS_MIN - 1)))).toMatch(/^this process may have 63 file descriptors/);
  });

  it('are taken as enough where the system does not say', () => {
    expect(fewDescriptors(null)).toBeNull();
    expect(fewDescriptors('')).toBeNull();
  });
});

describe.runIf(process.platform === 'linux')('a start with too few descriptors', () => {
  it.each([32, 44, 63])(
    'ends in one line that says so, and makes nothing: %i',
    async (few) => {
      const data = join(temporaryFolder(), 'data');
      const script = `ulimit -n ${few} && exec "$0" "$@"`;
      const args = ['-c', script, process.execPath, PROGRAM, 'serve', '--port', '0', '--data', data];
      const child = spawn('bash', args, { stdio: ['ignore', 'ignore', 'pipe'] });
      const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
      expect(stderr).toBe(
        `gateway: this process may have ${few} file descriptors, and a gateway needs at least 64 to start, and two for each request: raise the limit (ulimit -n, LimitNOFILE)\n`,
      );
      expect(code).toBe(EXIT_USAGE);
      expect(existsSync(data)).toBe(false);
    },
    60_000,
  );
});

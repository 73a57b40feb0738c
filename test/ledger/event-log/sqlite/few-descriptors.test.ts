import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { newPath } from './log-file.ts';

const FIXTURE = fileURLToPath(new URL('without-descriptors.ts', import.meta.url));

it.runIf(process.platform === 'linux')(
  'a process without a descriptor left appends, reads and follows: what it needs is open from the start',
  () => {
    const script = 'ulimit -n 64 && exec "$0" "$@"';
    const output = execFileSync('bash', ['-c', script, process.execPath, FIXTURE, newPath()], { encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual({ heard: 3, stopped: null, read: 6, head: true });
  },
  60_000,
);

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PROGRAM } from '../fixtures/processes/run-program.ts';

const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const needed = String(engines.node).replace('>=', '');
const [major, minor] = needed.split('.').map(Number) as [number, number];

test.each([`${major - 4}.20.2`, `${major}.${minor - 1}.9`])(
  'Node %s is told in one line that it is too old',
  (version) => {
    const versions = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
    const preload = `data:text/javascript,${encodeURIComponent(versions)}`;
    const run = spawnSync(process.execPath, ['--import', preload, PROGRAM, '--help'], { encoding: 'utf8' });
    expect([run.status, run.stdout, run.stderr]).toEqual([
      2,
      '',
      `gateway: it needs Node ${needed} or a later one, and this is ${version}\n`,
    ]);
  },
);

import { execFileSync, spawnSync } from 'node:child_process';
import { beforeAll, expect, it } from 'vitest';
import { PROGRAM, runProgram } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** A terminal of its own for a program: util-linux. */
const isThere = spawnSync('script', ['--version']).status === 0;
const ESCAPE = '\u001b[';
const data = temporaryFolder();
const REPLAY = ['ledger', 'replay', 'acct_ada', '--data', data];

beforeAll(async () => {
  const open = ['account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--data', data];
  expect(await runProgram(...open)).toMatchObject({ exitCode: 0 });
});

const onTerminal = (environment: Readonly<Record<string, string>>): string =>
  execFileSync('script', ['-qec', [process.execPath, PROGRAM, ...REPLAY].join(' '), '/dev/null'], {
    encoding: 'utf8',
    input: '',
    env: { PATH: process.env.PATH, TERM: 'xterm-256color', ...environment },
  });

it.skipIf(!isThere)('colours are for a terminal alone, and for none where NO_COLOR is set', async () => {
  expect(onTerminal({})).toContain(ESCAPE);
  const [without, piped] = [onTerminal({ NO_COLOR: '1' }), (await runProgram(...REPLAY)).stdout];
  for (const text of [without, piped]) expect(text).toMatch(/opened/);
  expect([without.includes(ESCAPE), piped.includes(ESCAPE)]).toEqual([false, false]);
});

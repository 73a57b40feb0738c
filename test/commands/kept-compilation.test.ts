import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { PROGRAM, runProgram } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

test('what was compiled at one start is taken up at the next, by the threads, too', async () => {
  // Empty is as good as none; vitest has one of its own.
  process.env.NODE_COMPILE_CACHE = '';
  const data = temporaryFolder();
  await runProgram('account', 'open', '--email', 'owner@example.com', '--data', data);
  process.env.NODE_DEBUG_NATIVE = 'COMPILE_CACHE';
  const list = runProgram('account', 'list', '--data', data);
  delete process.env.NODE_DEBUG_NATIVE;
  const { stderr } = await list;
  for (const module of ['proxy/program/run-process.ts', 'ledger/event-log/sqlite/writer-thread.ts'])
    expect(stderr).toMatch(new RegExp(`V8 code cache for ESM file://.*/${module} was accepted`));
});

test('where all of it is kept, nothing that takes types out is loaded', async () => {
  process.env.NODE_COMPILE_CACHE = '';
  await runProgram('--help');
  const told = 'process.on("exit", () => console.error(process.moduleLoadList.join(" ")))';
  process.env.NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(told)}`;
  const help = runProgram('--help');
  delete process.env.NODE_OPTIONS;
  const { stderr } = await help;
  expect(stderr).toContain('NativeModule internal/modules/typescript');
  expect(stderr).not.toContain('amaro');
});

const NOBODY = 65_534;

test.runIf(process.getuid?.() === 0)('whoever does not own the installation leaves nothing in it', () => {
  const env = { ...process.env, NODE_COMPILE_CACHE: '', NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
  const { stderr } = spawnSync(process.execPath, [PROGRAM, '--help'], { encoding: 'utf8', env, uid: NOBODY });
  expect(stderr).not.toContain('[compile cache]');
});

import { expect, test } from 'vitest';
import { runProgram } from '../fixtures/processes/run-program.ts';
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

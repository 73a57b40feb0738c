import { expect, it } from 'vitest';
import { runHere } from '../fixtures/processes/run-here.ts';
import { putBack } from '../written-before/kept-state.ts';

it('finds nothing wrong with a real ledger', async () => {
  const { data } = await putBack('76ed563', 'sqlite', 'ledger');
  const run = await runHere('ledger', 'verify', '--all', '--data', data);
  expect(run.stdout).toMatch(/^\d+ events of \d+ accounts: no fault\n$/);
  expect(run.exitCode).toBe(0);
});

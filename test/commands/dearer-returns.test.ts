import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const STARTER = { id: 'starter', label: 'Starter', price: '20.00', credits: '25.00' };
const TEAM = { id: 'team', label: 'Team', price: '200.00', credits: '260.00', overdraft: '20.00', grace_days: 14 };

it('what becomes of a dearer plan as the last of its payments goes back, or is here again, is told whichever that is', async () => {
  const program = endedLater(await programInProcess());
  let at = Date.parse('2026-11-05T10:00:00.000Z');
  program.clock = () => at;
  const models = [catalogEntry('opal', { upstreams: [{ provider: 'mock', model: 'opal' }] })];
  const catalog = join(temporaryFolder(), 'catalog.json');
  writeFileSync(catalog, JSON.stringify({ models, plans: [STARTER, TEAM] }));
  await program.run('catalog', 'publish', catalog);
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  for (const [plan, payment] of [
    ['starter', 'first'],
    ['team', 'dearer'],
  ] as const) {
    await program.run('account', 'plan', 'acct_ada', plan);
    await program.run('payment', 'confirm', 'acct_ada', '--payment', payment);
    at += 3_600_000;
  }
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '5', '--id', 'more');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'bought');
  const payment = (word: string, of: string, id: string, ...more: readonly string[]) =>
    program.run('payment', word, 'acct_ada', of, '--id', id, '--reason', 'x', ...more);
  expect(await payment('refund', 'first', 'r1', '--usd', '20')).not.toContain('plan');
  const gone = /; what was paid for the plan team went back: nothing may be owed by it, and it ends at \S+; asking/;
  expect(await payment('refund', 'dearer', 'r2', '--usd', '180')).toMatch(gone);
  expect(await payment('refund', 'bought', 'r3', '--usd', '5')).not.toContain('plan');
  expect(await payment('withdraw-refund', 'dearer', 'r2')).toContain('; the plan team is paid, and goes on\n');
  expect(await payment('dispute', 'dearer', 'd1', '--usd', '180')).toMatch(gone);
  expect(await payment('close-dispute', 'dearer', 'd1', '--outcome', 'won')).toContain('the plan team is paid');
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

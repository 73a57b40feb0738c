import { expect, it } from 'vitest';
import type { Fields } from '../fixtures/stripe/form-fields.ts';
import { stripeProgram } from './stripe-program.ts';

const EXAMPLE = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const ASK = ['payment', 'ask', 'acct_ada'];

it('what has paid a period under a further number of its id is written down once, and so is what goes back of it', async () => {
  const { server, program } = await stripeProgram();
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('payment', 'save-method', 'acct_ada');
  server.consent('cs_1');
  await program.run('payment', 'save-method', 'acct_ada', '--id', 'cs_1');
  server.isAway = true;
  await expect(program.run('account', 'plan', 'acct_ada', 'starter')).rejects.toThrow(/is not known/);
  server.isAway = false;
  const { metadata, customer, amount } = server.made('/v1/payment_intents')[0]?.params ?? {};
  const { attempt, ...names } = metadata as Fields;
  const { id } = server.putPaid({ ...names, attempt: `${attempt}_2` });
  server.change(id, { customer, amount: Number(amount), amount_received: Number(amount) });
  const later = Date.now() + 30 * 3_600_000;
  server.nowMs = () => later;
  program.clock = server.nowMs;
  expect(await program.run(...ASK)).toContain(`paid (${id})`);
  expect(await program.run(...ASK, String(attempt))).toContain('nothing was written');
  const { id: refund } = server.refund(id, 100);
  expect(await program.run(...ASK, String(attempt))).toContain(`\n${refund}: 1.250000 USD of credits revoked\n`);
  expect(await program.run(...ASK, String(attempt))).toContain('nothing was written');
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

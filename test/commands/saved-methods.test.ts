import { expect, it } from 'vitest';
import { EXIT } from '../../proxy/program/command-context.ts';
import { stripeProgram } from './stripe-program.ts';

const EXAMPLE = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;

it('gateway payment save-method says where its owner agrees, then saves the card; a removed one is forgotten by Stripe, too', async () => {
  const { server, program } = await stripeProgram();
  const save = ['payment', 'save-method', 'acct_ada'];
  expect(await program.run(...save)).toMatch(
    /^acct_ada: its owner agrees at https:\S+cs_1\n\nnext, when that is done: gateway payment save-method acct_ada --id cs_1 --config \S+\n$/,
  );
  expect(server.made('/v1/checkout/sessions')[0]?.params).toMatchObject({
    ...{ mode: 'setup', customer_creation: 'always', allowed_payment_method_types: ['card'] },
    setup_intent_data: { metadata: { account: 'acct_ada' } },
  });
  await expect(program.run(...save, '--id', 'cs_1')).rejects.toThrow(/^acct_ada: nothing was agreed to at cs_1/);
  server.consent('cs_1');
  expect(await program.run(...save, '--id', 'cs_1')).toMatch(/^acct_ada: visa xxxx4242 may be charged\nwritten at/);
  expect(await program.run(...save, '--id', 'cs_1')).toMatch(/nothing was written/);
  await program.run('account', 'open', '--email', 'bob@example.com', '--id', 'acct_bob', '--trial-usd', '0');
  await expect(program.run('payment', 'save-method', 'acct_bob', '--id', 'cs_1')).rejects.toThrow(
    /nothing was agreed to/,
  );
  await expect(program.run(...save, '--brand', 'visa')).rejects.toMatchObject({ exitCode: EXIT.usage });
  await program.run(...save);
  expect(server.made('/v1/checkout/sessions').at(-1)?.params.customer).toBe(server.get('pm_saved').customer);
  expect(await program.run('payment', 'remove-method', 'acct_ada')).toMatch(
    /nothing may be charged by itself\nwritten at/,
  );
  expect(server.get('pm_saved').customer).toBeNull();
  await expect(program.run(...save, '--id', 'cs_1')).rejects.toThrow(/nothing was agreed to/);
});

it('what was agreed to before the card was removed, or another was saved, is told as what may not be charged any more', async () => {
  const { server, program } = await stripeProgram();
  const save = ['payment', 'save-method', 'acct_ada'];
  for (const _ of [1, 2]) await program.run(...save);
  server.consent('cs_1', 'pm_first');
  const later = Date.now() + 60_000;
  server.nowMs = () => later;
  server.consent('cs_2');
  expect(await program.run(...save, '--id', 'cs_2')).toMatch(/xxxx4242 may be charged\nwritten at/);
  const isOver = () =>
    expect(program.run(...save, '--id', 'cs_1')).rejects.toMatchObject({
      exitCode: EXIT.refused,
      message: 'acct_ada: nothing was agreed to at cs_1, or it may not be charged any more',
    });
  await isOver();
  program.clock = () => later + 60_000;
  await program.run('payment', 'remove-method', 'acct_ada');
  await isOver();
});

it('a card is removed although Stripe is away, which is told, and forgotten there once it is said again', async () => {
  const { server, program } = await stripeProgram();
  await program.run('payment', 'save-method', 'acct_ada');
  server.consent('cs_1');
  await program.run('payment', 'save-method', 'acct_ada', '--id', 'cs_1');
  server.isAway = true;
  expect(await program.run('payment', 'remove-method', 'acct_ada')).toMatch(/written at/);
  expect(program.warned).toMatch(
    /pm_saved is still kept at stripe, to be removed there, or by .*: Stripe could not be/,
  );
  server.isAway = false;
  for (const _ of [1, 2])
    expect(await program.run('payment', 'remove-method', 'acct_ada')).toMatch(/nothing was written/);
  expect(server.get('pm_saved').customer).toBeNull();
  expect(server.made('/v1/payment_methods/pm_saved/detach').length).toBe(1);
  expect(program.warned.match(/still kept/g)?.length).toBe(1);
});

it('that a plan has ended unpaid is told beside why it is not begun anew for who asks for it', async () => {
  const { server, program } = await stripeProgram();
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('payment', 'save-method', 'acct_ada');
  server.consent('cs_1', 'pm_lost');
  await program.run('payment', 'save-method', 'acct_ada', '--id', 'cs_1');
  const plan = ['account', 'plan', 'acct_ada', 'starter'];
  expect(await program.run(...plan)).toMatch(/failed: card_declined|failed: lost_card/);
  program.clock = () => Date.now() + 40 * 86_400_000;
  await expect(program.run(...plan)).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringMatching(/^acct_ada: the saved payment method, .* save another one/),
  });
  expect(program.warned).toMatch(/^acct_ada: trial; starter never began, given up .* in time\nwritten at \S+Z$/m);
});

it('gateway account plan says that a first plan waits for a card, and is paid once one is saved', async () => {
  const { server, program } = await stripeProgram();
  await program.run('catalog', 'publish', EXAMPLE);
  const plan = ['account', 'plan', 'acct_ada', 'starter'];
  expect(await program.run(...plan)).toMatch(
    /\nrenewal_\S+: waits for a card\n\nnext: gateway payment save-method acct_ada --config \S+\nwritten at /,
  );
  await program.run('payment', 'save-method', 'acct_ada');
  server.consent('cs_1');
  await program.run('payment', 'save-method', 'acct_ada', '--id', 'cs_1');
  expect(await program.run('payment', 'ask', 'acct_ada')).toMatch(/ paid \(pi_\d+\)\n/);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ plan: 'starter' });
});

it('gateway account plan says how the plan stands once Stripe has answered', async () => {
  const { server, program } = await stripeProgram();
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('payment', 'save-method', 'acct_ada');
  server.consent('cs_1');
  await program.run('payment', 'save-method', 'acct_ada', '--id', 'cs_1');
  const plan = ['account', 'plan', 'acct_ada'];
  expect(await program.json(...plan, 'starter')).toMatchObject({
    ...{ plan: 'starter', outcome: { type: 'paid' } },
    billing: { plan: 'starter', due: null },
  });
  await program.run(...plan, 'none', '--now');
  expect(await program.run(...plan, 'starter')).toMatch(/^acct_ada: starter, \S+ to \S+, then renewed\n.*: paid \(pi_/);
});

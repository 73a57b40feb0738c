import { expect, it } from 'vitest';
import { OWN_FORMS } from '../../contracts/event-forms.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { stripeProgram } from './stripe-program.ts';

const EXAMPLE = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const PURCHASE = ['credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'p1'];
const DECLINE = ['payment', 'decline', 'acct_ada', '--reason', 'typed wrong'];

it('what begins by itself, or is of a plan, is ended by no owner, nor at Stripe by one', async () => {
  const { server, program } = await stripeProgram();
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('account', 'plan', 'acct_ada', 'starter');
  const asked = server.asked.length;
  await expect(program.run(...DECLINE, '--as', 'ada@example.com')).rejects.toThrow(
    /owner may not record that a payment will not be made/,
  );
  expect(server.asked.length).toBe(asked);
  // An operator's word is a decline, which stands in the event.
  expect(await program.run(...DECLINE)).toMatch(/ nothing was paid: typed wrong\nwritten at/);
  expect(await program.run('ledger', 'events', 'acct_ada', '--json')).toMatch(
    /"PaymentAbandoned".*"endedBy":"operator"/,
  );
  expect(await program.run('account', 'show', 'acct_ada')).toContain('ask for the plan again, or buy credits');
});

it('that an operator has ended it at Stripe stands in the event also where that is written by whoever hears of it first', async () => {
  const { server, program } = await stripeProgram();
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('account', 'plan', 'acct_ada', 'starter');
  // It is ended there, and the answer that says so is of no use.
  server.altered = (answer, { path }) => (path.endsWith('/cancel') ? {} : answer);
  await expect(program.run(...DECLINE)).rejects.toThrow(/acct_ada/);
  server.altered = null;
  expect(await program.run('payment', 'ask', 'acct_ada')).toMatch(/cancelled at Stripe/);
  expect(await program.run('ledger', 'events', 'acct_ada', '--json')).toMatch(
    /"PaymentAbandoned".*"endedBy":"operator"/,
  );
  expect(await program.run('account', 'show', 'acct_ada')).toContain('ask for the plan again, or buy credits');
});

it('where it cannot be written yet who has ended it, Stripe ends nothing', async () => {
  const { server, program } = await stripeProgram({ forms: { ...OWN_FORMS, PaymentAbandoned: 1 } });
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('account', 'plan', 'acct_ada', 'starter');
  const asked = server.asked.length;
  await expect(program.run(...DECLINE)).rejects.toThrow(
    /^PaymentAbandoned version 2 cannot be written before every proxy reads it/,
  );
  expect(server.asked.length).toBe(asked);
  await program.run(...PURCHASE);
  expect(await program.run(...DECLINE, 'p1')).toMatch(/ nothing was paid: typed wrong\nwritten at/);
});

it('of what was given up before, by nobody, an operator is told so, and by what no other is begun, as often as it is ended', async () => {
  const { server, program } = await stripeProgram();
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('account', 'plan', 'acct_ada', 'starter');
  const [{ attemptId }] = (await program.json('payment', 'list', 'acct_ada')) as never as [{ attemptId: string }];
  // It was cancelled without a reason, as programs of before did, or by hand, and that is heard first.
  server.altered = (answer, { path }) => (path.endsWith('/cancel') ? {} : answer);
  await expect(program.run(...DECLINE)).rejects.toMatchObject({ exitCode: EXIT.unavailable });
  server.altered = null;
  server.change(server.all('payment_intent')[0]?.id ?? '', { cancellation_reason: null });
  expect(await program.run('payment', 'ask', 'acct_ada')).toMatch(/cancelled at Stripe \(no reason\)/);
  for (let times = 0; times < 2; times++)
    await expect(program.run(...DECLINE, attemptId)).rejects.toMatchObject({
      exitCode: EXIT.refused,
      message: expect.stringMatching(
        /^acct_ada: renewal_\S+ was given up before, with nothing charged, and not by an operator as far as the ledger says: another is begun by itself, unless the plan ends \(gateway account plan acct_ada none --config \S+\)$/,
      ),
    });
  // Nobody begins another then, and it is ended, whoever has.
  await program.run('account', 'plan', 'acct_ada', 'none');
  expect(await program.run(...DECLINE, attemptId)).toMatch(/\nnothing was written: it is so already/);
});

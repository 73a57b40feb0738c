import { describe, expect, it } from 'vitest';
import type { Fields } from '../fixtures/stripe/form-fields.ts';
import { stripeProgram } from './stripe-program.ts';

const EXAMPLE = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const PLAN = ['account', 'plan', 'acct_ada'];
const ASK = ['payment', 'ask', 'acct_ada'];

const HOUR_MS = 3_600_000;

interface Lost extends Pick<Awaited<ReturnType<typeof stripeProgram>>, 'server' | 'program'> {
  readonly id: string;
}

/**
 * A plan's second period was charged as it began, in the part of the ledger that is lost; 30 hours later its renewal is begun anew, and
 * Stripe is away.
 *
 * @param behind its id there
 * @param since what was done before that
 */
async function chargedInTheLostPart(behind = '', since = async (_: Lost): Promise<void> => undefined) {
  const { server, program } = await stripeProgram();
  const at = (ms: number): void => {
    server.nowMs = () => ms;
    program.clock = server.nowMs;
  };
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('payment', 'save-method', 'acct_ada');
  server.consent('cs_1');
  await program.run('payment', 'save-method', 'acct_ada', '--id', 'cs_1');
  await program.run(...PLAN, 'starter');
  const { metadata, customer, amount } = server.made('/v1/payment_intents')[0]?.params ?? {};
  const [, endsAt = ''] = / to (\S+Z), then renewed/.exec(await program.run('account', 'show', 'acct_ada')) ?? [];
  at(Date.parse(endsAt));
  const attempt = `renewal_${endsAt}`;
  const { id } = server.putPaid({ ...(metadata as Fields), attempt: `${attempt}${behind}` });
  server.change(id, { customer, amount: Number(amount), amount_received: Number(amount) });
  at(Date.parse(endsAt) + 30 * HOUR_MS);
  await since({ server, program, id });
  server.isAway = true;
  await expect(program.run(...PLAN, 'starter')).rejects.toThrow(/is not known/);
  return { server, program, id, attempt, charges: () => server.all('charge').length };
}

it('what has paid a period under a further number of its id is written down once, and so is what goes back of it', async () => {
  const { server, program, id, attempt } = await chargedInTheLostPart('_2');
  server.isAway = false;
  expect(await program.run(...ASK)).toContain(`paid (${id})`);
  expect(await program.run(...ASK, attempt)).toContain('nothing was written');
  const { id: refund } = server.refund(id, 100);
  expect(await program.run(...ASK, attempt)).toContain(`\n${refund}: 1.250000 USD of credits revoked\n`);
  expect(await program.run(...ASK, attempt)).toContain('nothing was written');
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('what has paid a period is written down where the account is suspended by now, and nothing is charged once it is reinstated', async () => {
  const { server, program, id, charges } = await chargedInTheLostPart();
  await program.run('account', 'suspend', 'acct_ada', '--reason', 'looked into');
  server.isAway = false;
  expect(await program.run(...ASK)).toContain(`paid (${id})`);
  await program.run('account', 'reinstate', 'acct_ada', '--reason', 'fine');
  expect(await program.run(...PLAN, 'starter')).toMatch(/nothing was written/);
  expect(charges()).toBe(2);
});

it('what has paid a period is credit as bought where its plan was ended since', async () => {
  const { server, program, id, charges } = await chargedInTheLostPart();
  await expect(program.run(...PLAN, 'none')).rejects.toThrow(/is not known/);
  server.isAway = false;
  expect(await program.run(...ASK)).toContain(`paid (${id})`);
  expect(await program.run('account', 'show', 'acct_ada')).toMatch(
    new RegExp(`payment_${id}\\s+purchase\\s+25.000000`),
  );
  expect(charges()).toBe(2);
});

it('what has paid a period is declined by an operator no more, and is not charged again', async () => {
  const { server, program, id, attempt, charges } = await chargedInTheLostPart();
  server.isAway = false;
  const declining = program.run('payment', 'decline', 'acct_ada', attempt, '--reason', 'x');
  await expect(declining).rejects.toThrow(`was paid (${id})`);
  expect(await program.run(...PLAN, 'starter')).toMatch(/nothing was written/);
  expect(charges()).toBe(2);
});

describe('what went back of it in the lost part, too,', () => {
  it.each([
    ['refund', 'is asked of', ASK],
    ['dispute', 'is asked of', ASK],
    ['refund', 'is wanted no more', [...PLAN, 'none']],
  ] as const)('takes its credits as the renewal is written down: a %s, as it %s', async (word, _, asking) => {
    const { server, program, id, attempt, charges } = await chargedInTheLostPart();
    const { id: back } = server[word](id, 800);
    server.isAway = false;
    expect(await program.run(...asking)).toContain(`paid (${id})\n${back}: 10.000000 USD of credits revoked\n`);
    expect(await program.run(...ASK, attempt)).toContain('nothing was written');
    expect(charges()).toBe(2);
  });

  it('takes its credits where an operator declines it, whom it is told', async () => {
    const { server, program, id, attempt } = await chargedInTheLostPart();
    const { id: back } = server.refund(id, 800);
    server.isAway = false;
    const decline = () =>
      program.run('payment', 'decline', 'acct_ada', attempt, '--reason', 'x').catch(({ message }: Error) => {
        throw new Error(message.replaceAll(/ --config \S+/g, ' --config FILE'));
      });
    const isPaid = `${attempt} was paid (${id}); once`;
    const asking = `went back at stripe: gateway payment ask acct_ada ${attempt} --config FILE`;
    const said = `${isPaid} more of it ${asking}\n${back}: 10.000000 USD of credits revoked\nwritten at 20`;
    await expect(decline()).rejects.toThrow(said);
    expect(await program.run('account', 'show', 'acct_ada')).toMatch(/available\s+15\.000000 USD/);
    // By then nothing is written.
    await expect(decline()).rejects.toMatchObject({ message: `acct_ada: ${isPaid} the money ${asking}` });
  });
});

it('a card that is saved since the renewal was declined for good with another one is charged for it, once it is asked for again', async () => {
  const { server, program, id, attempt, charges } = await chargedInTheLostPart('', async (lost) => {
    const error = {
      type: 'card_error',
      code: 'card_declined',
      decline_code: 'lost_card',
      payment_method: { id: 'pm_saved' },
    };
    const unpaid = { status: 'requires_payment_method', amount_received: 0, latest_charge: null };
    lost.server.change(lost.id, { ...unpaid, last_payment_error: error });
    const [page = ''] = /cs_\d+/.exec(await lost.program.run('payment', 'save-method', 'acct_ada')) ?? [];
    lost.server.consent(page, 'pm_new');
    await lost.program.run('payment', 'save-method', 'acct_ada', '--id', page);
  });
  server.isAway = false;
  expect(await program.run(...ASK)).toContain('failed: lost_card, of another payment method than the saved one');
  await expect(program.run('payment', 'decline', 'acct_ada', attempt, '--reason', 'x')).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringMatching(/another is begun by itself, unless the plan ends \(gateway account plan/),
  });
  expect(await program.run('account', 'show', 'acct_ada')).toContain('is not paid yet');
  const before = charges();
  expect(await program.run(...PLAN, 'starter')).toContain(`${attempt}_2: paid (pi_`);
  expect(charges()).toBe(before + 1);
  const { params } = server.made('/v1/payment_intents').at(-1) ?? {};
  expect(params).toMatchObject({ payment_method: 'pm_new', confirm: 'true' });
  expect(server.get(id).status).toBe('requires_payment_method');
  const month = new Date(server.nowMs()).toISOString().slice(0, 7);
  expect(await program.run('account', 'statement', 'acct_ada', '--month', month)).toContain(
    'payment failed: card_declined, of another payment method than it was begun with',
  );
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

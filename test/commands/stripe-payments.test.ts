import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { accountId, attemptId } from '../../contracts/ids.ts';
import { readLedgerState } from '../../ledger/identity/ledger-state.ts';
import { StripeProvider } from '../../ledger/payments/stripe-provider.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import {
  NOTHING_SAVED,
  STRIPE_OF_TESTS,
  stripeAttempt,
  stripeConfiguration,
} from '../fixtures/stripe/stripe-example.ts';
import { SECRET_KEY } from '../fixtures/stripe/stripe-server.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { doctor } from './doctored.ts';
import { stripeProgram } from './stripe-program.ts';

const PURCHASE = ['credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'p1'];
const ASK = ['payment', 'ask', 'acct_ada', 'p1'];

it('gateway credits purchase says at which page of Stripe it is paid, once, and payment ask grants what was paid', async () => {
  const { server, program } = await stripeProgram();
  expect(await program.run(...PURCHASE)).toMatch(
    /^acct_ada: 20\.000000 USD of credits for 20\.000000 USD \(p1\): to be paid at https:\/\/checkout\.stripe\.com\/c\/pay\/cs_1\n/,
  );
  expect(await program.json(...PURCHASE)).toMatchObject({ provider: 'stripe', outcome: { type: 'waits' } });
  server.pay('cs_1');
  expect(await program.run(...ASK)).toMatch(/^acct_ada: p1 paid \(pi_2\)\n/);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '20000000' });
  expect(server.all('checkout.session').length).toBe(1);
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('a dispute of more than was paid, as by another rate of exchange, takes all credits of that payment and no others', async () => {
  const { server, program } = await stripeProgram();
  await program.run('credits', 'grant', 'acct_ada', '--usd', '5', '--source', 'promotion');
  await program.run(...PURCHASE);
  server.pay('cs_1');
  await program.run(...ASK);
  server.dispute('pi_2', 2_030, 'lost');
  for (const _ of [1, 2]) await program.run(...ASK);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '5000000' });
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('a purchase of what Stripe never charges is refused before anything is written', async () => {
  const { server, program } = await stripeProgram();
  for (const [option, ...args] of [
    ['--usd', '--usd', '0.30'],
    ['--price-usd', '--usd', '20', '--price-usd', '20.001'],
  ] as const)
    await expect(program.run('credits', 'purchase', 'acct_ada', ...args)).rejects.toMatchObject({
      ...{ exitCode: 3, message: `acct_ada: ${option}: Stripe charges whole cents, and 0.50 USD at the least` },
    });
  expect([await program.json('payment', 'list', 'acct_ada'), server.asked]).toEqual([[], []]);
});

it('one of an account of another product is neither asked for nor made by the provider of this one', async () => {
  const { server, program, configure } = await stripeProgram();
  await program.run(...PURCHASE);
  const asked = server.asked.length;
  configure('stripe', 'other');
  const list = ['payment', 'list'];
  for (const command of [ASK, PURCHASE, ['payment', 'decline', 'acct_ada', '--reason', 'x'], [...list, 'acct_ada']])
    await expect(program.run(...command)).rejects.toThrow(
      'acct_ada: its product is gateway, and this configuration is of other: --config names the one that says who takes its money',
    );
  expect([server.asked.length, await program.json(...list)]).toEqual([asked, []]);
  configure('stripe', 'gateway');
  expect(await program.json(...list)).toMatchObject([{ accountId: 'acct_ada', attemptId: 'p1' }]);
});

it('a purchase whose page has expired is over, and another may begin', async () => {
  const { server, program } = await stripeProgram();
  await program.run(...PURCHASE);
  server.expire('cs_1');
  expect(await program.run(...ASK)).toMatch(/^acct_ada: p1 nothing was paid: the Checkout session expired\n/);
  expect(await program.run('credits', 'purchase', 'acct_ada', '--usd', '5')).toMatch(/c\/pay\/cs_\d/);
});

it('a purchase that Stripe was not reached about stays open under its key, and says so without a word of Stripe', async () => {
  const { server, program } = await stripeProgram();
  server.isAway = true;
  const failed = await program.run(...PURCHASE).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    exitCode: EXIT.unavailable,
    message: expect.stringMatching(
      /^acct_ada: p1 is open, .*StripeConnectionError\n\nask again, which pays nothing twice: gateway payment ask acct_ada p1 --config \S+$/,
    ),
  });
  server.isAway = false;
  expect(await program.run(...ASK)).toMatch(/to be paid at/);
});

it('is refused before it is claimed without the key, whose name is told alone', async () => {
  const { server, program } = await stripeProgram({ environment: {} });
  await expect(program.run(...PURCHASE)).rejects.toThrow(
    'payments.stripe.secretKeyEnv: the environment variable STRIPE_KEY is not set',
  );
  expect(await program.json('payment', 'list', 'acct_ada')).toEqual([]);
  expect(server.asked).toEqual([]);
});

it('what Stripe alone knows is not confirmed by hand, nor asked of another provider', async () => {
  const { program, configure } = await stripeProgram();
  await program.run(...PURCHASE);
  await expect(program.run('payment', 'confirm', 'acct_ada')).rejects.toThrow(/p1 is of stripe, which alone knows/);
  configure('manual');
  await expect(program.run(...ASK)).rejects.toThrow(
    /p1 is of stripe, and payments.provider of the configuration is manual\n\n.*: gateway payment decline acct_ada p1 --reason "…" --config \S+$/,
  );
});

const DECLINE = ['payment', 'decline', 'acct_ada', '--reason', 'typed wrong'];

it('gateway payment decline of a purchase ends its page at Stripe, and another may begin; what was paid by then is written down', async () => {
  const { server, program } = await stripeProgram();
  await program.run(...PURCHASE);
  await expect(program.run('credits', 'purchase', 'acct_ada', '--usd', '5')).rejects.toThrow(/gateway payment decline/);
  expect(await program.run(...DECLINE)).toMatch(
    /^acct_ada: p1 \(20\.000000 USD of credits\) nothing was paid: typed wrong\nwritten at/,
  );
  expect(server.get('cs_1').status).toBe('expired');
  expect(await program.run(...DECLINE, 'p1')).toMatch(/nothing was written/);
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '5', '--id', 'p2');
  server.isAway = true;
  await expect(program.run(...DECLINE)).rejects.toMatchObject({ exitCode: EXIT.unavailable });
  server.isAway = false;
  server.pay(server.all('checkout.session')[1]?.id ?? '');
  await expect(program.run(...DECLINE)).rejects.toThrow(
    /^acct_ada: p2 was paid \(pi_\d\); once the money went back at stripe: gateway payment ask acct_ada p2 --config \S+\nwritten at \S+$/,
  );
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '5000000' });
});

it('an owner ends an own purchase, at Stripe first; what was paid by then wins, and what Stripe cannot be asked about stays open', async () => {
  const { server, program, configure } = await stripeProgram();
  const as = ['--as', 'ada@example.com'];
  await program.run(...PURCHASE, ...as);
  server.isAway = true;
  await expect(program.run(...DECLINE, ...as)).rejects.toMatchObject({ exitCode: EXIT.unavailable });
  server.isAway = false;
  configure('manual');
  await expect(program.run(...DECLINE, ...as)).rejects.toThrow(
    'acct_ada: owner may not end a purchase whose provider cannot be asked to end it: that is for operator',
  );
  configure('stripe');
  expect(server.get('cs_1').status).toBe('open');
  expect(await program.json('payment', 'list', 'acct_ada')).toMatchObject([{ state: 'open' }]);
  expect(await program.run(...DECLINE, ...as)).toMatch(/^acct_ada: p1 .* nothing was paid: typed wrong\nwritten at/);
  expect(server.get('cs_1').status).toBe('expired');
  expect(await program.run('ledger', 'events', 'acct_ada', '--json')).toMatch(
    /"PaymentAbandoned".*"actor":"ada@example\.com"/,
  );
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '5', '--id', 'p2', ...as);
  server.pay(server.all('checkout.session')[1]?.id ?? '');
  await expect(program.run(...DECLINE, ...as)).rejects.toThrow(/^acct_ada: p2 was paid/);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '5000000' });
});

it('a payment of a provider that is configured no more is declined here alone, and counts where it is paid there all the same', async () => {
  const { server, program, configure } = await stripeProgram();
  await program.run(...PURCHASE);
  configure('manual');
  const asked = server.asked.length;
  expect(await program.run(...DECLINE)).toMatch(
    /nothing was paid: typed wrong\n\nstripe was not asked, .*: end it there, too; .*\nwritten at/,
  );
  expect(server.asked.length).toBe(asked);
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '5', '--id', 'p2');
  await program.run('payment', 'confirm', 'acct_ada');
  server.pay('cs_1');
  configure('stripe');
  expect(await program.run(...ASK)).toMatch(/^acct_ada: p1 paid/);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '25000000' });
});

it('of a payment of a provider that is configured no more an operator writes down what went back, and nothing is taken twice', async () => {
  const { server, program, configure } = await stripeProgram();
  await program.run(...PURCHASE);
  server.pay('cs_1');
  await program.run(...ASK);
  const refund = ['payment', 'refund', 'acct_ada', 'pi_2', '--usd', '5', '--reason', 'one too many'];
  const tells = /pi_2 is of stripe, which tells it itself$/;
  await expect(program.run(...refund, '--id', 're_x')).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringMatching(tells),
  });
  server.refund('pi_2', 500);
  const [{ id } = { id: '' }] = server.all('refund');
  configure('manual');
  await expect(program.run(...refund)).rejects.toMatchObject({
    ...{ exitCode: 2, message: expect.stringContaining('name the refund as stripe does (--id re_…)') },
  });
  await expect(program.run(...refund, '--id', 'case-7')).rejects.toMatchObject({ exitCode: 2 });
  expect(await program.run(...refund, '--id', id)).toMatch(/5\.000000 USD refunded .*the balance is 15\.000000 USD/);
  const dispute = ['payment', 'dispute', 'acct_ada', 'pi_2', '--usd', '15', '--id', 'dp_x', '--reason', 'the bank'];
  // Under another name Stripe's own would take it once more.
  const asCase = dispute.map((word) => (word === 'dp_x' ? 'case-7' : word));
  await expect(program.run(...asCase)).rejects.toMatchObject({
    ...{ exitCode: 2, message: expect.stringContaining('name the dispute as stripe does (--id du_…)') },
  });
  expect(await program.run(...dispute)).toMatch(/the balance is 0\.000000 USD/);
  const close = ['payment', 'close-dispute', 'acct_ada', 'pi_2', '--id', 'dp_x', '--outcome', 'won', '--reason', 'x'];
  expect(await program.run(...close)).toMatch(/the balance is 15\.000000 USD/);
  await expect(program.run(...refund, '--id', 're_y', '--usd', '15.01')).rejects.toMatchObject({ exitCode: 3 });
  const withdraw = ['payment', 'withdraw-refund', 'acct_ada', 'pi_2', '--id', 're_y', '--reason', 'not so'];
  await program.run(...refund, '--id', 're_y');
  expect(await program.run(...withdraw)).toMatch(/refund re_y withdrawn; the balance is 15\.000000 USD/);
  configure('stripe');
  // What Stripe tells of it did go back, or failed there.
  await expect(program.run(...withdraw.with(5, id))).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringMatching(
      /stripe knows re_\d+ of pi_2, and tells itself what becomes of it: gateway payment ask acct_ada p1 --config \S+$/,
    ),
  });
  await program.run(...ASK);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '15000000' });
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('a refund that fails after it was written down is withdrawn as Stripe is asked, with its money in all books; one that was withdrawn by hand and was made is there again', async () => {
  const { server, program, configure } = await stripeProgram();
  await program.run(...PURCHASE);
  server.pay('cs_1');
  await program.run(...ASK);
  const { id } = server.refund('pi_2', 2_000);
  await program.run(...ASK);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '0' });
  server.change(id, { status: 'failed' });
  expect(await program.run(...ASK)).toMatch(
    new RegExp(`^acct_ada: p1 paid \\(pi_2\\)\n${id}: it has failed; 20.000000 USD of credits restored\nwritten at`),
  );
  expect(await program.run(...ASK)).toMatch(/nothing was written/);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '20000000' });
  configure('manual');
  const byHand = ['acct_ada', 'pi_2', '--reason', 'x', '--id'];
  server.refund('pi_2', 500);
  server.refund('pi_2', 700);
  const [, known = ''] = server.all('refund').map((one) => one.id);
  await program.run('payment', 'refund', ...byHand, known, '--usd', '5');
  await program.run('payment', 'withdraw-refund', ...byHand, known);
  configure('stripe');
  expect(await program.run(...ASK)).toMatch(
    new RegExp(`\nre_\\d+: 7.000000 USD of credits revoked\n${known}_again: 5.000000 USD of credits revoked\n`),
  );
  expect(await program.run(...ASK)).toMatch(/nothing was written/);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '8000000' });
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
  // In a row: account, and what it is debited in micro-USD, or less than nothing.
  const exported = await program.run('ledger', 'export', '--format', 'csv');
  const money = [...exported.matchAll(/,Assets:Clearing:Purchases,[-.\d]+,(-?\d+),/g)];
  expect(money.map(([, one = '']) => BigInt(one))).toEqual(
    [20, -20, 20, -5, 5, -7, -5].map((usd) => BigInt(usd) * 1_000_000n),
  );
});

it('a dispute that was lost and is won on appeal gives back what it took, as Stripe says', async () => {
  const { server, program } = await stripeProgram();
  await program.run(...PURCHASE);
  server.pay('cs_1');
  await program.run(...ASK);
  const { id } = server.dispute('pi_2', 2_000, 'lost');
  const balances: unknown[] = [];
  for (const outcome of ['lost', 'won', 'won'] as const) {
    server.closeDispute(id, outcome);
    await program.run(...ASK);
    balances.push((await program.json('account', 'show', 'acct_ada')).balance);
  }
  expect(balances).toEqual(['0', '20000000', '20000000']);
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('a purchase that Stripe refuses for good is over, with the reason', async () => {
  const { program } = await stripeProgram();
  expect(await program.run('credits', 'purchase', 'acct_ada', '--usd', '2000000', '--id', 'p1')).toMatch(
    /nothing was paid: Stripe has refused: StripeInvalidRequestError, amount_too_large, 400, \w+\nwritten at/,
  );
  expect(await program.run('credits', 'purchase', 'acct_ada', '--usd', '5')).toMatch(/to be paid at/);
});

it('a purchase under an id that was paid for another amount in a lost part of the ledger is over, names that, and blocks no other', async () => {
  const { server, program } = await stripeProgram();
  const { identity } = await readLedgerState(program.log);
  const before = endedLater(
    new StripeProvider({
      ...{ configuration: stripeConfiguration(server.url), secrets: STRIPE_OF_TESTS, clock: Date.now },
      ledgerId: async () => identity?.ledgerId ?? expect.unreachable(),
    }),
  );
  const attempt = stripeAttempt({ kind: 'purchase', attemptId: attemptId('p1'), startedAtMs: Date.now() });
  await before.ask({ accountId: accountId('acct_ada'), attempt, ...NOTHING_SAVED });
  server.pay('cs_1');
  const over = /^acct_ada: .*p1.* nothing was paid: Stripe has a Checkout session of another amount .* \(cs_1\)\n/;
  expect(await program.run(...PURCHASE.with(4, '30'))).toMatch(over);
  expect(await program.run(...ASK)).toMatch(over);
  expect(await program.run(...DECLINE, 'p1')).toMatch(/nothing was written/);
  expect(await program.run(...PURCHASE.with(4, '30').with(6, 'p2'))).toMatch(/to be paid at/);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '0' });
});

it('gateway payment ask of a payment that was made finds what went back of it while nobody heard', async () => {
  const { server, program } = await stripeProgram();
  await program.run(...PURCHASE);
  server.pay('cs_1');
  await program.run(...ASK);
  const intent = String(server.all('payment_intent')[0]?.id);
  server.refund(intent, 500);
  server.dispute(intent, 1_500, 'lost');
  expect(await program.run(...ASK)).toMatch(
    /^acct_ada: p1 paid \(pi_2\)\nre_\d+: 5\.000000 USD of credits revoked\ndp_\d+: 15\.000000 USD of credits revoked\nwritten at/,
  );
  expect(await program.run(...ASK)).toMatch(/nothing was written/);
  expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '0' });
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('what Stripe answers otherwise than it has to, or not at all, is told in one line, and nothing is written', async () => {
  const { server, program } = await stripeProgram();
  await program.run(...PURCHASE);
  server.pay('cs_1');
  const { id } = await program.json('payment', 'save-method', 'acct_ada');
  const asked = async (...command: string[]): Promise<string> =>
    program.run(...command).then(
      () => 'done',
      ({ exitCode, message }) => `${exitCode} ${message}`,
    );
  server.altered = (answer, { method }) => (method === 'GET' ? { ...answer, id: 'other' } : answer);
  expect(await asked(...ASK)).toMatch(/^4 acct_ada: p1 is open, .*: Stripe answers another of its checkout.session/);
  server.altered = null;
  await program.run(...ASK);
  server.altered = (answer) => ({ ...answer, id: 'other', url: 'javascript:words' });
  expect(await asked(...ASK)).toBe('4 acct_ada: Stripe answers another of its payment_intent than was asked for');
  const saving = ['payment', 'save-method', 'acct_ada'];
  expect(await asked(...saving)).toBe(
    '4 acct_ada: Stripe answers what cannot be read as its consent: url (invalid_format)',
  );
  server.isAway = true;
  for (const command of [ASK, saving, [...saving, '--id', String(id)]])
    expect(await asked(...command)).toBe(
      '4 acct_ada: Stripe could not be asked, or has refused: StripeConnectionError',
    );
});

it('gateway doctor says who takes the money, what of it is missing and that nothing hears webhooks, and no secret', async () => {
  const folder = temporaryFolder();
  const [config, secretKeyFile] = [join(folder, 'gateway.json'), join(folder, 'key')];
  const stripe = { secretKeyFile, successUrl: 'https://app.example/paid' };
  writeFileSync(config, JSON.stringify({ data: join(folder, 'data'), payments: { provider: 'stripe', stripe } }));
  const look = async (key: string) => {
    writeFileSync(secretKeyFile, key);
    const { of, findings, stderr } = await doctor(config);
    expect(`${JSON.stringify(findings)}${stderr}`).not.toContain(key);
    expect(of('credentials')).toMatchObject({ says: 'none are needed; those of Stripe stand under payments' });
    return of('payments');
  };
  expect(await look(SECRET_KEY)).toMatchObject({
    ...{ state: 'warn', says: 'stripe, in test mode, at api.stripe.com; without webhooks' },
    advice: expect.stringContaining('payments.stripe.webhookSecrets'),
  });
  expect(await look('pk_test_publishable')).toMatchObject({
    state: 'fault',
    says: expect.stringMatching(/^payments\.stripe\.secretKeyFile: .* holds no secret key of Stripe/),
  });
});

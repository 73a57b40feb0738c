import { expect, it } from 'vitest';
import { EXIT } from '../../proxy/program/command-context.ts';
import type { StripeServer } from '../fixtures/stripe/stripe-server.ts';
import { stripeProgram } from './stripe-program.ts';

const EXAMPLE = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const ASK = ['payment', 'ask', 'acct_ada', 'p1'];

/** A purchase of 20 USD that is paid and written down, as `pi_2`. */
async function paidProgram() {
  const scene = await stripeProgram();
  const { server, program } = scene;
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'p1');
  server.pay('cs_1');
  await program.run(...ASK);
  return { ...scene, balance: async () => (await program.json('account', 'show', 'acct_ada')).balance };
}

/** Done each time that Stripe has told all of a payment. */
const behindAnswers = (server: StripeServer, act: () => void): void => {
  server.altered = (answer, { path }) => {
    if (path === '/v1/disputes') act();
    return answer;
  };
};

it('where something that Stripe tells is refused, payment ask says what was written all the same, and each refusal', async () => {
  const { server, program, configure, balance } = await paidProgram();
  const refunds = [700, 300, 400].map((cents) => server.refund('pi_2', cents).id);
  // It lists the newest first.
  const [last = '', made = '', first = ''] = refunds;
  configure('manual');
  for (const id of [first, last])
    await program.run('payment', 'refund', 'acct_ada', 'pi_2', '--reason', 'x', '--id', id, '--usd', '1');
  configure('stripe');
  const other = 'is about 1.000000 USD, and was told before: a further one has an id of its own';
  await expect(program.run(...ASK)).rejects.toMatchObject({
    ...{ exitCode: EXIT.refused, message: `acct_ada: ${first} ${other}\nacct_ada: ${last} ${other}` },
  });
  expect(program.warned).toMatch(
    new RegExp(`^acct_ada: what else stripe tells is written, at .*\n${made}: 3.000000 USD of credits revoked\n$`),
  );
  expect(await balance()).toBe('15000000');
});

it('where Stripe is away behind what was written, payment ask says what that was', async () => {
  const { server, program, balance } = await paidProgram();
  const { id } = server.refund('pi_2', 500);
  behindAnswers(server, () => {
    server.isAway = true;
  });
  await expect(program.run(...ASK)).rejects.toMatchObject({ exitCode: EXIT.unavailable });
  expect(program.warned).toContain(`\n${id}: 5.000000 USD of credits revoked\n`);
  expect(await balance()).toBe('15000000');
});

it('where Stripe tells something else each time, payment ask ends as where it is away, with what was written', async () => {
  const { server, program } = await paidProgram();
  const refund = () => server.refund('pi_2', 1);
  refund();
  behindAnswers(server, refund);
  await expect(program.run(...ASK)).rejects.toMatchObject({
    ...{ exitCode: EXIT.unavailable, message: expect.stringMatching(/^acct_ada: stripe tells something else/) },
  });
  expect(program.warned.match(/: 0\.010000 USD of credits revoked\n/g)).toHaveLength(5);
});

it('payment ask tells programs, too, which credits were taken, and which came back', async () => {
  const { server, program } = await paidProgram();
  const { id } = server.refund('pi_2', 200);
  const revoked = { type: 'taken', revokedMicroUsd: '2000000', setOffMicroUsd: '0', owedMicroUsd: '0' };
  expect(await program.json(...ASK)).toMatchObject({ credits: [{ id, ...revoked, notRevokedMicroUsd: '0' }] });
  server.change(id, { status: 'canceled' });
  const { id: dispute } = server.dispute('pi_2', 2_000, 'won');
  expect(await program.json(...ASK)).toMatchObject({
    credits: [
      { id, type: 'back', restoredMicroUsd: '2000000' },
      { id: dispute, type: 'taken', revokedMicroUsd: '20000000' },
      { id: dispute, type: 'back', restoredMicroUsd: '20000000' },
    ],
  });
  expect(await program.json(...ASK)).toMatchObject({ credits: [], recordedAt: null });
  expect(await program.run('ledger', 'events', 'acct_ada', '--json')).toContain('"reason":"it was canceled"');
});

it('where all that was paid for a plan goes back at Stripe, payment ask says what becomes of that, once', async () => {
  const { server, program } = await stripeProgram();
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('payment', 'save-method', 'acct_ada');
  server.consent('cs_1');
  await program.run('payment', 'save-method', 'acct_ada', '--id', 'cs_1');
  await program.run('account', 'plan', 'acct_ada', 'starter');
  const [{ attemptId }] = (await program.json('payment', 'list', 'acct_ada')) as never as [{ attemptId: string }];
  const id = String(server.all('payment_intent')[0]?.id);
  server.refund(id, Number(server.get(id).amount));
  const ask = () => program.run('payment', 'ask', 'acct_ada', attemptId);
  expect(await ask()).toMatch(
    /\nwhat was paid for the plan starter went back: .*, and `gateway account plan acct_ada none --now --config \S+` ends it now\n/,
  );
  expect(await ask()).not.toContain('went back');
});

it('of a refund that has failed, and had taken nothing, no credits are said to be restored', async () => {
  const { server, program, balance } = await paidProgram();
  server.dispute('pi_2', 2_000);
  await program.run(...ASK);
  const { id } = server.refund('pi_2', 500);
  await program.run(...ASK);
  server.change(id, { status: 'failed' });
  expect(await program.run(...ASK)).toContain(
    `\n${id}: it has failed; no credits are restored, for none were gone by it alone\n`,
  );
  expect(await balance()).toBe('0');
});

it('what was written by mistake of a payment of Stripe’s is undone by hand where Stripe, which is asked, does not know it so', async () => {
  const { server, program, configure, balance } = await paidProgram();
  const [right, other] = [server.refund('pi_2', 300).id, server.refund('pi_2', 700).id];
  configure('manual');
  const byHand = (word: string, id: string, ...more: string[]) =>
    program.run('payment', word, 'acct_ada', 'pi_2', '--reason', 'x', '--id', id, ...more);
  for (const [id, amount] of Object.entries({ re_typed: '5', [right]: '3', [other]: '1' }))
    await byHand('refund', id, '--usd', amount);
  await byHand('dispute', 'du_typed', '--usd', '4');
  await expect(program.run('payment', 'decline', 'acct_ada', 'p1', '--reason', 'x')).rejects.toThrow(
    /was paid \(pi_2\); once the money went back at stripe: gateway payment refund .* --usd 7\.00 --id 're_…' --reason /,
  );
  configure('stripe');
  server.isAway = true;
  await expect(byHand('withdraw-refund', 're_typed')).rejects.toMatchObject({ exitCode: EXIT.unavailable });
  server.isAway = false;
  expect(await byHand('withdraw-refund', 're_typed')).toMatch(/the balance is 12\.000000 USD/);
  expect(await byHand('close-dispute', 'du_typed', '--outcome', 'won')).toMatch(/the balance is 16\.000000 USD/);
  const known = (id: string) => ({
    exitCode: EXIT.refused,
    message: `acct_ada: stripe knows ${id} of pi_2, and tells itself what becomes of it: gateway payment ask acct_ada p1 --config ${program.file}`,
  });
  await expect(byHand('withdraw-refund', right)).rejects.toMatchObject(known(right));
  expect(await byHand('withdraw-refund', other)).toMatch(/the balance is 17\.000000 USD/);
  expect(await program.run(...ASK)).toContain(`\n${other}_again: 7.000000 USD of credits revoked\n`);
  await expect(byHand('withdraw-refund', `${other}_again`)).rejects.toMatchObject(known(`${other}_again`));
  const { id: dispute } = server.dispute('pi_2', 400);
  await program.run(...ASK);
  await expect(byHand('close-dispute', dispute, '--outcome', 'won')).rejects.toMatchObject(known(dispute));
  expect(await balance()).toBe('6000000');
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('a refund and a dispute of Stripe’s whose ids stood elsewhere in the account are written down once, under others', async () => {
  const { server, program, configure, balance } = await paidProgram();
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '30', '--id', 'p2');
  server.pay(String(server.all('checkout.session')[1]?.id));
  const [askOther, other] = [ASK.with(3, 'p2'), String(server.all('payment_intent')[1]?.id)];
  await program.run(...askOther);
  const refund = server.refund(other, 500).id;
  const revoke = ['credits', 'revoke', 'acct_ada', '--grant', `payment_${other}`, '--usd', '5', '--reason', 'x'];
  await program.run(...revoke, '--cause', 'administration', '--id', refund);
  await program.run('credits', 'restore', 'acct_ada', '--revocation', refund, '--reason', 'x');
  expect(await program.run(...askOther)).toContain(`\n${refund}_again: 5.000000 USD of credits revoked\n`);
  expect(await balance()).toBe('45000000');
  // Typed at the other payment while Stripe is not configured, and undone.
  configure('manual');
  const [back, disputed] = [server.refund('pi_2', 300).id, server.dispute('pi_2', 700).id];
  const atOther = (word: string, id: string, ...more: string[]) =>
    program.run('payment', word, 'acct_ada', other, '--reason', 'x', '--id', id, ...more);
  await atOther('refund', back, '--usd', '3');
  await atOther('withdraw-refund', back);
  await atOther('dispute', disputed, '--usd', '7');
  await atOther('close-dispute', disputed, '--outcome', 'won');
  configure('stripe');
  await program.run(...ASK);
  for (const ask of [ASK, askOther]) expect(await program.run(...ask)).toContain('nothing was written');
  expect(await balance()).toBe('35000000');
  server.change(back, { status: 'failed' });
  server.closeDispute(disputed, 'won');
  await program.run(...ASK);
  expect(await balance()).toBe('45000000');
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('a dispute of Stripe’s that was written down by hand with another amount is undone by hand, and told anew by Stripe', async () => {
  const { server, program, configure, balance } = await paidProgram();
  configure('manual');
  const { id } = server.dispute('pi_2', 2_000);
  const byHand = (word: string, ...more: string[]) =>
    program.run('payment', word, 'acct_ada', 'pi_2', '--reason', 'x', '--id', ...more);
  await byHand('dispute', id, '--usd', '4');
  configure('stripe');
  await expect(program.run(...ASK)).rejects.toThrow(`${id} is about 4.000000 USD`);
  expect(await byHand('close-dispute', id, '--outcome', 'won')).toMatch(/the balance is 20\.000000 USD/);
  expect(await program.run(...ASK)).toContain(`\n${id}_again: 20.000000 USD of credits revoked\n`);
  await expect(byHand('close-dispute', `${id}_again`, '--outcome', 'won')).rejects.toThrow(
    `stripe knows ${id}_again of pi_2`,
  );
  server.closeDispute(id, 'lost');
  for (const written of ['written at', 'nothing was written']) expect(await program.run(...ASK)).toContain(written);
  expect(await balance()).toBe('0');
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/no fault/);
});

it('a dispute that was closed by hand as won with another amount is told anew with how it ended at Stripe', async () => {
  const { server, program, configure, balance } = await paidProgram();
  configure('manual');
  const { id } = server.dispute('pi_2', 2_000, 'lost');
  const byHand = ['acct_ada', 'pi_2', '--reason', 'x', '--id', id];
  await program.run('payment', 'dispute', ...byHand, '--usd', '4');
  await program.run('payment', 'close-dispute', ...byHand, '--outcome', 'won');
  configure('stripe');
  expect(await program.run(...ASK)).toContain(`\n${id}_again: 20.000000 USD of credits revoked\n`);
  expect(await balance()).toBe('0');
  server.closeDispute(id, 'won');
  await program.run(...ASK);
  expect(await program.run(...ASK)).toContain('nothing was written');
  expect(await balance()).toBe('20000000');
});

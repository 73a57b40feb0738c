import { expect, it } from 'vitest';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { LEDGER, stripeScene } from '../../fixtures/stripe/stripe-example.ts';

const INTENTS = '/v1/payment_intents';
const NAMES = { ledger: LEDGER, account: 'acme', attempt: 'reload_1', kind: 'reload' };
const PURCHASE: Partial<PaymentAttempt> = { kind: 'purchase', attemptId: attemptId('bought') };
const REFUSED = { type: 'refused', reason: expect.stringMatching(/^Stripe has refused: /) };
const whyNot = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    (outcome) => `answered: ${JSON.stringify(outcome)}`,
    (error: Error) => error.message,
  );

it.each([
  ['invalid', 'StripeInvalidRequestError, account_invalid, 400'],
  ['forbidden', 'StripePermissionError, more_permissions_required, 403'],
  ['unknown', 'StripeAuthenticationError, api_key_expired, 401'],
] as const)('what begins by itself and is refused (%s) is over, and its key used up', async (fault, why) => {
  const { server, ask } = await stripeScene();
  server.faults.push(fault);
  expect(await ask()).toEqual({ type: 'refused', reason: `Stripe has refused: ${why}, req_${why.slice(-3)}` });
  // Whoever still asks under it charges nothing.
  expect(await ask()).toMatchObject({ type: 'abandoned' });
  expect(server.all('charge')).toEqual([]);
  expect(server.all('payment_intent').map(({ status }) => status)).toEqual(['canceled']);
});

it.each(['invalid', 'forbidden', 'unknown'] as const)(
  'of which nothing is there, and whose key cannot be used up either (%s), it is over, too',
  async (fault) => {
    const { server, ask } = await stripeScene();
    server.faults.push(fault, fault);
    expect(await ask()).toEqual(REFUSED);
    expect(server.all('payment_intent')).toEqual([]);
  },
);

it('what was charged before, and is refused now, is found, and paid', async () => {
  const { server, ask } = await stripeScene();
  server.faults.push('unheard', 'unheard');
  await whyNot(ask());
  server.faults.push('forbidden');
  expect(await ask()).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
  server.faults.push('invalid', 'invalid');
  expect(await ask()).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
  expect(server.all('charge').length).toBe(1);
});

it('where Stripe has made it, and refuses to charge it, it is cancelled there', async () => {
  const { server, ask } = await stripeScene();
  const intent = server.put('payment_intents', {
    ...{ metadata: NAMES, status: 'requires_payment_method', last_payment_error: null, latest_charge: null },
    ...{ cancellation_reason: null, amount: 2_000, amount_received: 0, currency: 'usd' },
  });
  server.faults.push('invalid', 'invalid');
  expect(await ask()).toEqual(REFUSED);
  expect(server.get(intent.id).status).toBe('canceled');
});

it('while its key is in use, and while what was asked before cannot be looked for, it stays open', async () => {
  const { server, ask } = await stripeScene();
  server.faults.push('forbidden', 'under way');
  expect(await whyNot(ask())).toMatch(/409/);
  server.faults.push('unknown', 'unknown');
  server.isUnreadable = true;
  expect(await whyNot(ask())).toMatch(/^Stripe could not be asked, or has refused: .*403/);
  server.isUnreadable = false;
  expect(await ask()).toMatchObject({ type: 'paid' });
  expect(server.all('charge').length).toBe(1);
});

it('what nobody has asked of before need not be looked for: neither a charge nor a page', async () => {
  const { server, askFirst } = await stripeScene();
  server.isUnreadable = true;
  server.faults.push('unknown', 'unknown');
  expect(await askFirst()).toEqual(REFUSED);
  server.faults.push('unknown');
  expect(await askFirst(PURCHASE)).toEqual(REFUSED);
});

it('what is withdrawn and refused is over where nothing is there, and as it is where something is', async () => {
  const { server, withdraw } = await stripeScene();
  server.faults.push('forbidden');
  expect(await withdraw()).toEqual(REFUSED);
  const paid = server.putPaid(NAMES);
  server.faults.push('forbidden');
  expect(await withdraw()).toMatchObject({ type: 'paid', paymentId: paymentId(paid.id) });
  expect(server.made(INTENTS).length).toBe(2);
});

it('a card that Stripe has no more is no refusal, but fails for good', async () => {
  const { ask } = await stripeScene();
  expect(await ask({}, 'pm_gone')).toEqual({ type: 'failed', code: 'resource_missing', isTerminal: true });
});

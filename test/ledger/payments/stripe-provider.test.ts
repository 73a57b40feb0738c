import { describe, expect, it } from 'vitest';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { usd } from '../../fixtures/ledger/example-account.ts';
import { cardOf, LEDGER, STARTED_MS, stripeScene } from '../../fixtures/stripe/stripe-example.ts';
import { SECRET_KEY } from '../../fixtures/stripe/stripe-server.ts';

const HOUR_MS = 3_600_000;
const INTENTS = '/v1/payment_intents';
const SESSIONS = '/v1/checkout/sessions';
const NAMES = { ledger: LEDGER, account: 'acme', attempt: 'reload_1' };
const PURCHASE: Partial<PaymentAttempt> = { kind: 'purchase', attemptId: attemptId('bought') };
const whyNot = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    (outcome) => `answered: ${JSON.stringify(outcome)}`,
    (error: Error) => error.message,
  );

describe('what begins by itself', () => {
  it('charges the saved card once, without its owner, under the key of ledger, account and attempt', async () => {
    const { server, ask } = await stripeScene();
    const paid = { type: 'paid', paymentId: 'pi_1', amount: 20_000_000n, paidAtMs: STARTED_MS };
    expect(await ask()).toEqual(paid);
    expect(await ask()).toEqual(paid);
    expect(server.all('charge').length).toBe(1);
    expect(server.made(INTENTS)[0]).toMatchObject({
      key: `${LEDGER}/acme/reload_1`,
      params: {
        ...{ amount: '2000', currency: 'usd', customer: 'cus_1', payment_method: 'pm_ok', confirm: 'true' },
        ...{ off_session: 'true', error_on_requires_action: 'true', metadata: NAMES },
      },
    });
  });

  it.each(['renewal', 'upgrade'] as const)('charges what a plan’s %s costs the same way', async (kind) => {
    const { server, ask } = await stripeScene();
    expect(await ask({ kind })).toMatchObject({ type: 'paid' });
    expect(server.made(INTENTS)[0]?.params).toMatchObject({ off_session: 'true', metadata: { ...NAMES, kind } });
    expect(server.made(SESSIONS)).toEqual([]);
  });

  it.each([
    ['a decline', 'pm_declined', { code: 'insufficient_funds', isTerminal: false }],
    ['a bank that wants its customer there', 'pm_absent', { code: 'authentication_required', isTerminal: true }],
    ['a lost card', 'pm_lost', { code: 'lost_card', isTerminal: true }],
    ['a bank that wants no other attempt', 'pm_never', { code: 'do_not_honor', isTerminal: true }],
    ['a card that Stripe has no more', 'pm_gone', { code: 'resource_missing', isTerminal: true }],
  ])('has failed by %s, each time it is asked', async (_, card, failed) => {
    const { server, ask } = await stripeScene();
    for (let times = 0; times < 2; times++) expect(await ask({}, card)).toEqual({ type: 'failed', ...failed });
    expect(server.all('payment_intent').length).toBeLessThan(2);
  });

  it('has failed for good by each word that says that the card is not to be charged again, and by no other', async () => {
    const forGood = [
      ...['stolen_card', 'lost_card', 'pickup_card', 'fraudulent', 'expired_card', 'invalid_account'],
      ...['revocation_of_authorization', 'revocation_of_all_authorizations', 'stop_payment_order'],
      'authentication_required',
    ];
    const others = ['generic_decline', 'try_again_later', 'processing_error', 'card_velocity_exceeded', 'stolen'];
    for (const code of [...forGood, ...others]) {
      const { ask } = await stripeScene();
      expect(await ask({}, `pm_says_${code}`)).toEqual({ type: 'failed', code, isTerminal: forGood.includes(code) });
    }
  });

  it('waits for a bank that takes its time, whose later word is heard though the key is answered as before', async () => {
    const { server, ask } = await stripeScene();
    expect(await ask({}, 'pm_slow')).toEqual({ type: 'waits', url: null });
    server.settle('pi_1');
    expect(await ask({}, 'pm_slow')).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
    expect(server.all('payment_intent').length).toBe(1);
  });

  it.each([
    ['the connection breaks after the charge', ['unheard', 'unheard'], 1],
    ['Stripe is away', ['away', 'away'], 0],
    ['Stripe is busy', ['busy'], 0],
    ['another process asks under the key', ['under way'], 0],
  ] as const)(
    'is known as neither paid nor failed where %s, and charged once when it is asked again',
    async (_, faults, charges) => {
      const { server, ask } = await stripeScene();
      server.faults.push(...faults);
      expect(await whyNot(ask())).toMatch(/^Stripe could not be asked, or has refused: Stripe\w+Error/);
      expect(server.all('charge').length).toBe(charges);
      expect(await ask()).toMatchObject({ type: 'paid' });
      expect(server.all('charge').length).toBe(1);
    },
  );

  it('is found where Stripe has charged, and answers its key with a fault of its own from then on', async () => {
    const { server, ask } = await stripeScene();
    server.faults.push('breaks');
    expect(await ask()).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
    expect(await ask()).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
    expect(server.all('charge').length).toBe(1);
  });

  it('stays open where Stripe answers its key with a fault and has charged nothing, until the key is over', async () => {
    const { server, time, ask } = await stripeScene();
    server.faults.push('broken');
    for (const hours of [0, 1, 22]) {
      time.nowMs = STARTED_MS + hours * HOUR_MS;
      expect(await whyNot(ask())).toMatch(/StripeAPIError, 500/);
    }
    time.nowMs = STARTED_MS + 23 * HOUR_MS;
    expect(await ask()).toEqual({ type: 'waits', url: null });
    time.nowMs = STARTED_MS + 24 * HOUR_MS;
    expect(await ask()).toMatchObject({ type: 'abandoned' });
    expect(server.all('payment_intent')).toEqual([]);
  });

  it('is charged no second time where its key is forgotten: it is found among others by its names', async () => {
    const { server, time, ask } = await stripeScene();
    server.faults.push('unheard', 'unheard');
    await whyNot(ask());
    const metadata = { ...NAMES, account: 'others' };
    for (let count = 0; count < 120; count++) server.put('payment_intents', { metadata, status: 'canceled' });
    server.put('payment_intents', { metadata: { ...NAMES, ledger: 'another' }, status: 'canceled' });
    time.nowMs = STARTED_MS + 30 * HOUR_MS;
    expect(await ask()).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
    expect(await ask({}, null)).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
    expect(server.all('charge').length).toBe(1);
    expect(server.made(INTENTS).length).toBe(2);
  });

  it('is found where another card was saved meanwhile, which its key is not about', async () => {
    const { server, ask } = await stripeScene();
    server.faults.push('unheard', 'unheard');
    await whyNot(ask());
    expect(await ask({}, 'pm_other')).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
    expect(await ask({}, null)).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
    expect(server.all('charge').length).toBe(1);
  });

  it('is not charged without a card, and given up when its key is over', async () => {
    const { server, time, ask } = await stripeScene();
    expect(await ask({}, null)).toEqual({ type: 'waits', url: null });
    time.nowMs = STARTED_MS + 24 * HOUR_MS;
    expect(await ask({}, null)).toMatchObject({ type: 'abandoned' });
    expect(server.made(INTENTS)).toEqual([]);
  });

  it('has failed for good where what may be charged is another provider’s, and was from its beginning', async () => {
    const { server, ask } = await stripeScene();
    const mandate = { ...cardOf('mandate-7'), provider: 'manual' };
    expect(await ask({}, mandate)).toEqual({ type: 'failed', code: 'no_payment_method', isTerminal: true });
    const since = { ...mandate, consentedAtMs: STARTED_MS + 1 };
    expect(await ask({}, since)).toEqual({ type: 'waits', url: null });
    expect(server.made(INTENTS)).toEqual([]);
  });

  it.each([
    ['requested_by_customer', 'requested_by_customer'],
    [null, 'no reason'],
    ['see_evil_example', 'other'],
    ['fraudulent', 'other'],
  ])(
    'that was cancelled there for %s is told as cancelled for %s: in a word that is documented, and may be told',
    async (why, told) => {
      const { server, ask } = await stripeScene();
      const { id } = server.put('payment_intents', {
        ...{ metadata: NAMES, status: 'canceled', last_payment_error: null, latest_charge: null },
        ...{ cancellation_reason: why, amount: 2_000, amount_received: 0, currency: 'usd' },
      });
      const reason = `cancelled at Stripe (${told})`;
      const by = why === 'requested_by_customer' ? { endedBy: 'operator' } : {};
      expect(await ask({ paymentId: paymentId(id) })).toEqual({ type: 'abandoned', reason, ...by });
    },
  );

  it('is cancelled at Stripe where nobody decides it until its key is over', async () => {
    const { server, time, ask } = await stripeScene();
    const intent = server.put('payment_intents', {
      ...{ metadata: NAMES, status: 'requires_action', last_payment_error: null, latest_charge: null },
      ...{ cancellation_reason: null, amount: 2_000, amount_received: 0, currency: 'usd' },
    });
    expect(await ask({ paymentId: paymentId(intent.id) })).toEqual({ type: 'action required', paymentId: intent.id });
    time.nowMs = STARTED_MS + 24 * HOUR_MS;
    expect(await ask()).toMatchObject({ type: 'abandoned' });
    expect(server.get(intent.id).status).toBe('canceled');
  });

  it('uses up its key where it is withdrawn, so that nobody who asks under it later, or asks still, charges a card', async () => {
    const { server, time, ask, withdraw } = await stripeScene();
    for (let times = 0; times < 2; times++) expect(await withdraw()).toMatchObject({ type: 'abandoned' });
    expect(await ask()).toMatchObject({ type: 'abandoned' });
    time.nowMs += 30 * HOUR_MS;
    expect(await ask()).toMatchObject({ type: 'abandoned' });
    expect(server.all('charge')).toEqual([]);
    expect(server.all('payment_intent').map(({ status }) => status)).toEqual(['canceled']);
  });

  it('is told as ended by an operator where one has, whoever asks then, and not where nobody wants it any more', async () => {
    const { ask, withdraw } = await stripeScene();
    expect(await withdraw({}, { endedBy: 'operator' })).toMatchObject({ endedBy: 'operator' });
    for (const told of [await ask(), await withdraw()]) expect(told).toMatchObject({ endedBy: 'operator' });
    const other = { attemptId: attemptId('other') };
    for (let times = 0; times < 2; times++)
      expect(await withdraw(other)).toEqual({ type: 'abandoned', reason: 'cancelled at Stripe (no reason)' });
  });

  it('is told as it is where it is withdrawn and was charged before, is being charged, or its key is in use', async () => {
    const { server, ask, withdraw } = await stripeScene();
    server.faults.push('unheard', 'unheard');
    await whyNot(ask());
    expect(await withdraw()).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
    const other = { attemptId: attemptId('other') };
    await ask(other, 'pm_slow');
    expect(await withdraw(other)).toEqual({ type: 'waits', url: null });
    const third = { attemptId: attemptId('third') };
    server.faults.push('under way');
    expect(await whyNot(withdraw(third))).toMatch(/409/);
    expect(await withdraw(third)).toMatchObject({ type: 'abandoned' });
    expect(server.all('charge').length).toBe(1);
  });

  it.each([usd(490_000), usd(1_000_001)])(
    'of %s micro-USD, which Stripe cannot charge, is given up unasked',
    async (price) => {
      const { server, ask } = await stripeScene();
      expect(await ask({ price })).toMatchObject({ type: 'abandoned', reason: expect.stringMatching(/whole cents/) });
      expect(server.asked).toEqual([]);
    },
  );
});

describe('a purchase', () => {
  it('is paid on a page of Stripe, the same one each time, where a declined card is replaced', async () => {
    const { server, time, ask } = await stripeScene();
    const waits = { type: 'waits', url: 'https://checkout.stripe.com/c/pay/cs_1' };
    expect(await ask(PURCHASE)).toEqual(waits);
    expect(server.made(SESSIONS)[0]).toMatchObject({
      key: `${LEDGER}/acme/bought`,
      params: {
        ...{
          adaptive_pricing: { enabled: 'false' },
          mode: 'payment',
          success_url: 'https://app.example/paid',
          metadata: { ...NAMES, attempt: 'bought' },
        },
        payment_intent_data: { metadata: { ...NAMES, attempt: 'bought' } },
      },
    });
    server.pay('cs_1', 'pm_declined');
    expect(await ask(PURCHASE)).toEqual(waits);
    // Of the charge that was made is when it was paid, not of the payment, which was begun with the first card.
    time.nowMs += HOUR_MS;
    server.pay('cs_1');
    const paid = { type: 'paid', paymentId: server.all('payment_intent')[0]?.id, amount: 20_000_000n };
    expect(await ask(PURCHASE)).toEqual({ ...paid, paidAtMs: STARTED_MS + HOUR_MS });
    expect(server.all('checkout.session').length).toBe(1);
  });

  it('charged nothing where its page has expired, tried in vain or not at all', async () => {
    const { server, ask } = await stripeScene();
    await ask(PURCHASE);
    server.pay('cs_1', 'pm_lost');
    server.expire('cs_1');
    expect(await ask(PURCHASE)).toEqual({ type: 'abandoned', reason: 'the Checkout session expired' });
    await ask({ ...PURCHASE, attemptId: attemptId('other') });
    server.expire(server.all('checkout.session')[1]?.id ?? '');
    expect(await ask({ ...PURCHASE, attemptId: attemptId('other') })).toMatchObject({ type: 'abandoned' });
  });

  it('is found where its key is forgotten, and never made anew then', async () => {
    const { server, time, ask } = await stripeScene();
    server.faults.push('unheard', 'unheard');
    await whyNot(ask(PURCHASE));
    server.pay('cs_1');
    time.nowMs = STARTED_MS + 30 * HOUR_MS;
    expect(await ask(PURCHASE)).toMatchObject({ type: 'paid' });
    expect(await ask({ ...PURCHASE, attemptId: attemptId('other') })).toMatchObject({ type: 'abandoned' });
    expect(server.all('checkout.session').length).toBe(1);
  });

  it.each([
    [
      'cannot be',
      usd(2_000_000_000_000),
      'none',
      /^Stripe has refused: StripeInvalidRequestError, amount_too_large, 400, /,
    ],
    [
      'may not be',
      usd(20_000_000),
      'forbidden',
      /^Stripe has refused: StripePermissionError, more_permissions_required, 403, /,
    ],
  ] as const)('that %s made there is given up, as it has begun nothing', async (_, price, fault, reason) => {
    const { server, ask } = await stripeScene();
    server.faults.push(fault);
    expect(await ask({ ...PURCHASE, price })).toEqual({
      type: 'refused',
      reason: expect.stringMatching(reason),
    });
    expect(server.all('checkout.session')).toEqual([]);
  });

  it('that was made before, and is refused since, is found; where that cannot be looked at it stays open', async () => {
    const { server, ask } = await stripeScene();
    await ask(PURCHASE);
    server.faults.push('forbidden');
    expect(await ask(PURCHASE)).toMatchObject({ type: 'waits', url: expect.any(String) });
    const other = { ...PURCHASE, attemptId: attemptId('other') };
    server.faults.push('forbidden');
    server.isUnreadable = true;
    expect(await whyNot(ask(other))).toMatch(/^Stripe could not be asked, or has refused: .*403/);
  });

  it('that is withdrawn is over at Stripe, begun or not; one that is paid stays paid, and one that has ended is not begun anew', async () => {
    const { server, ask, withdraw } = await stripeScene();
    const over = { type: 'abandoned', reason: 'the Checkout session expired' };
    await ask(PURCHASE);
    for (let times = 0; times < 2; times++) expect(await withdraw(PURCHASE)).toEqual(over);
    expect(await ask(PURCHASE)).toEqual(over);
    const other = { ...PURCHASE, attemptId: attemptId('other') };
    expect(await withdraw(other)).toEqual(over);
    expect(server.all('checkout.session').map(({ status }) => status)).toEqual(['expired', 'expired']);
    const third = { ...PURCHASE, attemptId: attemptId('third') };
    await ask(third);
    server.pay(server.all('checkout.session')[2]?.id ?? '');
    expect(await withdraw(third)).toMatchObject({ type: 'paid' });
    const ended = { ...PURCHASE, attemptId: attemptId('ended'), state: 'abandoned' } as const;
    expect(await ask(ended)).toEqual({ type: 'abandoned', reason: 'Stripe has nothing of it' });
    expect(server.all('checkout.session').length).toBe(3);
  });

  it('of another currency is nobody’s to say: it stays open', async () => {
    const { server, ask } = await stripeScene();
    await ask(PURCHASE);
    server.pay('cs_1');
    server.change(server.all('payment_intent')[0]?.id ?? '', { currency: 'eur' });
    expect(await whyNot(ask(PURCHASE))).toMatch(/payment_intent\.currency/);
  });
});

it('an error names neither the key nor words of Stripe', async () => {
  const { server, ask } = await stripeScene();
  server.isAway = true;
  const away = await ask().catch((error: unknown) => error);
  server.isAway = false;
  server.faults.push('busy');
  const busy = await ask().catch((error: unknown) => error);
  for (const error of [away, busy]) {
    const told = JSON.stringify(error, Object.getOwnPropertyNames(error as object));
    expect(told).toContain('Stripe could not be asked');
    expect(told).not.toContain(SECRET_KEY);
    expect(told).not.toContain('words of Stripe');
  }
});

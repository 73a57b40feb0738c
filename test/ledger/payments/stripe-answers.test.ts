import { describe, expect, it } from 'vitest';
import { accountId, attemptId, paymentId } from '../../../contracts/ids.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { type PaymentOutcome, UnfitAnswerError } from '../../../ledger/payments/payment-provider.ts';
import { commandOfOutcome } from '../../../ledger/payments/record-outcome.ts';
import { LEDGER, STARTED_MS, stripeScene } from '../../fixtures/stripe/stripe-example.ts';
import type { AskedStripe } from '../../fixtures/stripe/stripe-server.ts';

const ESCAPES = '\u001b[31mPWN\r\n\u202e';
const SECRET = 'sk_live_51HSecret';
const PURCHASE: Partial<PaymentAttempt> = { kind: 'purchase', attemptId: attemptId('bought') };
const OF_ANOTHER = { ledger: LEDGER, account: 'others', attempt: 'reload_1', kind: 'reload' };

/** Commands of the ledger, outcomes of ours, and what is of no shape that anybody knows. */
const ODD: readonly unknown[] = [
  { type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus_evil', paymentMethodId: 'pm_evil', by: 'root' },
  { type: 'RevokeGrant', grantId: 'g', amount: 1, reason: SECRET },
  { type: 'failed', code: `${SECRET}${ESCAPES}`, isTerminal: true },
  { type: 'abandoned', reason: `${SECRET}${ESCAPES}` },
  { type: 'made', id: `${ESCAPES}${SECRET}` },
  {},
  { data: null },
  { id: 5 },
  { id: '../../v1/accounts' },
  { id: 'pi_1', object: 'payment_intent', status: 'succeeded' },
];
/** What its package fails at, where nobody would hear it. */
const NO_OBJECTS: readonly unknown[] = [null, 1, true, 'words', [1], { error: 5 }, { error: [SECRET] }];

const errorOf = (asked: Promise<unknown>): Promise<Error> =>
  asked.then(
    (outcome) => new Error(`answered: ${String(outcome && JSON.stringify(outcome, (_, one) => String(one)))}`),
    (error: Error) => error,
  );
const isMaking = ({ method }: AskedStripe): boolean => method === 'POST';
const isSearching = ({ path }: AskedStripe): boolean => path.endsWith('/search');
const isReading = (asked: AskedStripe): boolean => asked.method === 'GET' && !isSearching(asked);

const named = (answers: readonly unknown[]) => answers.map((one) => [JSON.stringify(one), one] as const);

describe('an answer to what reads it', () => {
  it.each(named([...ODD, ...NO_OBJECTS]))('%s is none: the attempt stays open', async (_, answer) => {
    for (const attempt of [{}, PURCHASE]) {
      const { server, ask, withdraw } = await stripeScene();
      server.altered = (right, asked) => (isReading(asked) ? answer : right);
      for (const error of [await errorOf(ask(attempt)), await errorOf(withdraw(attempt))]) expectToldOf(error);
      server.altered = null;
      expect(await ask(attempt)).toMatchObject({ type: expect.stringMatching(/paid|abandoned/) });
    }
  });
});

describe('an answer to what is searched before a page is made', () => {
  it.each(named([...ODD, ...NO_OBJECTS]))('%s is none: the attempt stays open', async (_, answer) => {
    const { server, ask, withdraw } = await stripeScene();
    server.altered = (right, asked) => (isSearching(asked) ? answer : right);
    for (const error of [await errorOf(ask(PURCHASE)), await errorOf(withdraw(PURCHASE))]) expectToldOf(error);
    expect(server.all('checkout.session')).toEqual([]);
    server.altered = null;
    expect(await ask(PURCHASE)).toMatchObject({ type: 'waits' });
  });
});

describe('an answer to what makes it', () => {
  it.each(named(ODD.slice(0, -1)))('%s is none: the attempt stays open', async (_, answer) => {
    for (const attempt of [{}, PURCHASE]) {
      const { server, ask } = await stripeScene();
      server.altered = (right, asked) => (isMaking(asked) ? answer : right);
      expectToldOf(await errorOf(ask(attempt)));
      server.altered = null;
      expect(await ask(attempt)).toMatchObject({ type: expect.stringMatching(/paid|waits/) });
    }
  });

  it.each(named(NO_OBJECTS))('%s is none: what was made is found', async (_, answer) => {
    const { server, ask } = await stripeScene();
    server.altered = (right, asked) => (isMaking(asked) ? answer : right);
    expect(await ask()).toMatchObject({ type: 'paid', paymentId: 'pi_1' });
  });
});

/** Nothing of what was answered is told. */
function expectToldOf({ message }: Error): void {
  expect(message).toMatch(/^Stripe (answers|could not be asked, or has refused: StripeAPIError, .*no JSON object)/);
  for (const word of [SECRET, 'PWN', 'cus_evil', 'words']) expect(message).not.toContain(word);
}

it('an answer that cannot be read is told by the places where it is not as it has to be', async () => {
  const { server, ask } = await stripeScene();
  server.altered = (answer, asked) => (isReading(asked) ? { ...answer, status: SECRET, created: 1.5 } : answer);
  const error = await errorOf(ask());
  expect(error).toBeInstanceOf(UnfitAnswerError);
  expect(error.message).toBe(
    'Stripe answers what cannot be read as its payment_intent: created (invalid_type), status (invalid_value)',
  );
});

it('what its own package cannot read is none either, whose words are not told', async () => {
  const { server, ask } = await stripeScene();
  server.altered = (answer) => ({ ...answer, currency_conversion: { fx_rate: SECRET } });
  const error = await errorOf(ask(PURCHASE));
  expect(error).toBeInstanceOf(UnfitAnswerError);
  expect(error.message).toBe('Stripe answers what its own package cannot read');
});

it('what is none of the outcomes of ours is no command', () => {
  const odd = { type: 'RevokeGrant', grantId: 'g' } as unknown as PaymentOutcome;
  const told = { attemptId: attemptId('bought'), provider: 'stripe', nowMs: STARTED_MS };
  expect(() => commandOfOutcome(odd, told)).toThrow('none of its outcomes');
});

describe('a payment that is there', () => {
  it.each([
    ['of another account', { metadata: OF_ANOTHER }, /not of reload_1 of acme/],
    ['of another ledger', { metadata: { ...OF_ANOTHER, account: 'acme', ledger: 'led_other' } }, /not of reload_1/],
    ['of another attempt', { metadata: { ...OF_ANOTHER, account: 'acme', attempt: 'before' } }, /not of reload_1/],
    ['that nobody has named', { metadata: {} }, /not of reload_1/],
    ['of another amount', { amount: 2_001 }, /another amount/],
    ['of another currency', { currency: 'eur' }, /currency \(invalid_value\)/],
    ['that was not asked for', { id: 'pi_99' }, /another of its payment_intent/],
    ['that was made, by no charge, as when is not known', {}, /was made, and names no charge of it$/],
  ])('%s pays nothing, ends nothing, and is ended by nobody', async (_, of, why) => {
    const { server, ask, withdraw } = await stripeScene();
    await ask({}, 'pm_slow');
    server.altered = (answer, asked) => (isReading(asked) ? { ...answer, status: 'succeeded', ...of } : answer);
    for (const asked of [() => ask(), () => ask({ paymentId: paymentId('pi_1') }), () => withdraw()]) {
      const error = await errorOf(asked());
      expect(error).toBeInstanceOf(UnfitAnswerError);
      expect(error.message).toMatch(why);
    }
    server.altered = null;
    expect(server.get('pi_1').status).toBe('processing');
  });

  it('of another account pays no attempt where Stripe says that it was made by its key', async () => {
    const { server, ask } = await stripeScene();
    const other = { ...OF_ANOTHER, account: 'others' };
    const { id } = server.putPaid(other);
    server.altered = (answer, asked) => (isMaking(asked) ? { id, object: 'payment_intent' } : answer);
    expect((await errorOf(ask())).message).toMatch(/not of reload_1 of acme/);
  });

  it('is cancelled, and then somebody else’s: that it has ended is not believed', async () => {
    const { server, ask, withdraw } = await stripeScene();
    const names = { ...OF_ANOTHER, account: 'acme' };
    const open = { amount: 2_000, amount_received: 0, currency: 'usd', metadata: names, latest_charge: null };
    const { id } = server.put('payment_intents', { ...open, status: 'requires_action', cancellation_reason: null });
    server.altered = (answer, asked) => (asked.path.endsWith('/cancel') ? { ...answer, metadata: OF_ANOTHER } : answer);
    expect((await errorOf(withdraw({ paymentId: paymentId(id) }))).message).toMatch(/not of reload_1 of acme/);
    expect(await ask({ paymentId: paymentId(id) })).toMatchObject({ type: 'abandoned' });
  });
});

it.each([
  ['of another account', { metadata: OF_ANOTHER }, /checkout.session that is not of bought/],
  ['of another amount', { amount_total: 1 }, /another amount/],
  ['of no amount', { amount_total: null }, /another amount/],
  ['that was not asked for', { id: 'cs_99' }, /another of its checkout.session/],
  ['with another’s payment', { payment_intent: { metadata: OF_ANOTHER } }, /payment_intent that is not of bought/],
  ['whose payment is of another amount', { payment_intent: { amount: 1 } }, /another amount/],
  ['at no address', { url: `javascript:${ESCAPES}` }, /url \(invalid_format\)/],
])('a page %s is not the one of a purchase', async (_, of, why) => {
  const { server, ask } = await stripeScene();
  await ask(PURCHASE);
  server.pay('cs_1');
  server.altered = (answer, asked) => {
    if (!isReading(asked)) return answer;
    const { payment_intent: more, ...others } = of as { readonly payment_intent?: object };
    return { ...answer, ...others, payment_intent: { ...(answer.payment_intent as object), ...more } };
  };
  const error = await errorOf(ask(PURCHASE));
  expect(error).toBeInstanceOf(UnfitAnswerError);
  expect(error.message).toMatch(why);
});

it.each([
  ['of no such word', { code: 'card_declined', decline_code: `${SECRET}${ESCAPES}` }, 'card_declined'],
  ['of no words at all', { code: { SECRET }, decline_code: SECRET, advice_code: 5 }, 'declined'],
])('a decline %s is one all the same', async (_, said, code) => {
  const { server, ask } = await stripeScene();
  server.altered = (answer, asked) =>
    isReading(asked) ? { ...answer, status: 'requires_payment_method', last_payment_error: said } : answer;
  expect(await ask({}, 'pm_slow')).toEqual({ type: 'failed', code, isTerminal: false });
});

describe('what Stripe lists of a payment', () => {
  const listed = async (kind: 'refunds' | 'disputes', parts: readonly object[], intent: object = {}) => {
    const { server, ask, provider } = await stripeScene();
    await ask();
    const charge = server.get('pi_1').latest_charge;
    const part = { created: 1, currency: 'usd', payment_intent: 'pi_1', charge, amount: 500 };
    const status = kind === 'refunds' ? 'succeeded' : 'lost';
    server.altered = (answer, { path }) => {
      if (path.endsWith('/pi_1')) return { ...answer, ...intent };
      if (!path.endsWith(`/${kind}`)) return answer;
      return { ...answer, data: parts.map((one, at) => ({ id: `part_${at}`, ...part, status, ...one })) };
    };
    return provider.factsOf({ kind: 'payment_intent', id: 'pi_1' });
  };

  describe.each(['refunds', 'disputes'] as const)('%s', (kind) => {
    it('of it are facts', async () => {
      const known = await listed(kind, [{ amount: 500 }, { amount: 1_500 }]);
      expect(known?.facts.slice(1).map((fact) => 'amount' in fact && fact.amount)).toEqual([5_000_000n, 15_000_000n]);
    });

    it.each([
      ['of another payment', [{ payment_intent: 'pi_999' }], /of another payment/],
      ['of another charge', [{ charge: 'ch_999' }], /of another payment/],
      ['of nothing', [{ amount: 0 }], /that nothing went back/],
      ['of another currency', [{ currency: 'eur' }], /currency \(invalid_value\)/],
      ['in a state of which nothing is known', [{ status: SECRET }], /status \(invalid_value\)/],
      ['without an id', [{ id: null }], /id \(invalid_type\)/],
    ] as const)('%s take nothing: none of it is believed', async (_, parts, why) => {
      const error = await errorOf(listed(kind, parts));
      expect(error).toBeInstanceOf(UnfitAnswerError);
      expect(error.message).toMatch(why);
    });
  });

  it('is disputed, by whatever rate of exchange, is no more than all that was paid', async () => {
    const known = await listed('disputes', [{ amount: 2_001 }, { amount: 1_999 }]);
    expect(known?.facts.slice(1).map((fact) => 'amount' in fact && fact.amount)).toEqual([20_000_000n, 19_990_000n]);
  });

  it('went back altogether is no more than was paid; what has failed does not count', async () => {
    expect((await errorOf(listed('refunds', [{ amount: 2_001 }]))).message).toMatch(/than was paid/);
    const failed = { amount: 1_500, status: 'failed' };
    const known = await listed('refunds', [{ amount: 2_000 }, failed, { ...failed, status: 'canceled' }]);
    // What has failed is written down first: of the payment so much can go back again.
    expect(known?.facts.slice(1)).toMatchObject([
      { type: 'failed refund', paymentId: 'pi_1', refundId: 'part_1', became: 'failed' },
      { type: 'failed refund', paymentId: 'pi_1', refundId: 'part_2', became: 'canceled' },
      { type: 'refund', refundId: 'part_0' },
    ]);
    expect((await errorOf(listed('refunds', [{ amount: 1_500 }, { amount: 501 }]))).message).toMatch(/than was paid/);
    const pending = { amount: 501, status: 'pending' };
    expect((await errorOf(listed('refunds', [{ amount: 1_500 }, pending]))).message).toMatch(/than was paid/);
  });

  it('is of this ledger alone where its payment is: others’ are not read at all', async () => {
    expect(await listed('refunds', [{}], { metadata: {}, currency: 'eur', status: SECRET })).toBeNull();
  });
});

it('a page with a payment, or a card, of something else is not believed', async () => {
  const { server, ask, provider } = await stripeScene();
  await ask(PURCHASE);
  server.pay('cs_1');
  server.altered = (answer) => ({
    ...answer,
    payment_intent: { ...(answer.payment_intent as object), metadata: OF_ANOTHER },
  });
  const error = await errorOf(provider.factsOf({ kind: 'checkout.session', id: 'cs_1' }));
  expect(error.message).toMatch(/a payment, or a card, of something else/);
});

it('who is said to have asked for a card is said in words alone', async () => {
  const { server, provider } = await stripeScene();
  const { id } = await provider.beginMethod({ accountId: accountId('acme'), by: 'ada', customerId: null });
  server.consent(id);
  const by = async (text: string) => {
    server.altered = (answer) => {
      const setup = answer.setup_intent as { metadata: object };
      return { ...answer, setup_intent: { ...setup, metadata: { ...setup.metadata, by: text } } };
    };
    const known = await provider.factsOf({ kind: 'checkout.session', id });
    return known?.facts.map((fact) => 'by' in fact && fact.by);
  };
  expect([await by('Ada of acme'), await by(ESCAPES), await by('')]).toEqual([['Ada of acme'], ['system'], ['system']]);
});

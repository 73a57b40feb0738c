import { describe, expect, it } from 'vitest';
import { accountId, attemptId, paymentId } from '../../../contracts/ids.ts';
import { NO_PAYMENTS, type PaymentAttempt, withAttempt } from '../../../ledger/account/payments-state.ts';
import { isAnothersIn } from '../../../ledger/payments/ask-of-attempt.ts';
import { usd } from '../../fixtures/ledger/example-account.ts';
import { cardOf, LEDGER, STARTED_MS, stripeAttempt, stripeScene } from '../../fixtures/stripe/stripe-example.ts';

const HOUR_MS = 3_600_000;
const RENEWAL = `renewal_${new Date(STARTED_MS).toISOString()}`;
const INTENTS = '/v1/payment_intents';
const NAMES = { ledger: LEDGER, account: 'acme', attempt: RENEWAL, kind: 'renewal' };
const PAID = { type: 'paid', paymentId: 'pi_1', amount: 20_000_000n, paidAtMs: STARTED_MS };
const hoursIn = (hours: number): number => STARTED_MS + hours * HOUR_MS;

/** Of the period that began as the scene does, begun some hours later. */
const renewal = (hours: number, more: Partial<PaymentAttempt> = {}): Partial<PaymentAttempt> => ({
  ...{ kind: 'renewal', attemptId: attemptId(RENEWAL), startedAtMs: hoursIn(hours) },
  period: { plan: 'team', catalogVersion: 1, startMs: STARTED_MS, endMs: hoursIn(30 * 24), overdraft: usd(0) },
  ...more,
});

async function scene() {
  const { time, ...stripe } = await stripeScene();
  const listed = () => stripe.server.asked.filter(({ method, path }) => method === 'GET' && path === INTENTS);
  const charges = () => stripe.server.all('charge').length;
  return { ...stripe, time, listed, charges, at: (hours: number) => (time.nowMs = hoursIn(hours)) };
}

describe('a renewal of a ledger that was put back', () => {
  it.each([23, 30, 29 * 24])('is found where it was charged before, %i h into its period', async (hours) => {
    const { ask, askFirst, at, listed, charges } = await scene();
    expect(await ask(renewal(0))).toEqual(PAID);
    at(hours);
    expect(await askFirst(renewal(hours))).toEqual(PAID);
    expect(await ask(renewal(hours))).toEqual(PAID);
    expect(charges()).toBe(1);
    const created = { gte: String(hoursIn(-1) / 1_000), lte: String(hoursIn(hours + 1) / 1_000) };
    expect(listed().map(({ params }) => params)).toMatchObject(Array(2).fill({ customer: 'cus_1', created }));
  });

  it.each([
    ['nothing may be charged', 30, null],
    ['nothing may be charged, and its own key is over', 30 + 24, null],
    ['it is withdrawn', 30, {}],
    ['it is withdrawn, and its own key is over', 30 + 24, {}],
    ['an operator ends it', 30, { endedBy: 'operator' }],
    ['it is withdrawn within the day of its key', 22, {}],
  ] as const)('is found where it was charged before, and %s', async (_, hours, by) => {
    const { server, ask, withdraw, at, charges } = await scene();
    expect(await ask(renewal(0))).toEqual(PAID);
    at(hours);
    const begun = renewal(Math.min(hours, 30));
    expect(await (by === null ? ask(begun, null) : withdraw(begun, by))).toEqual(PAID);
    expect([charges(), server.all('payment_intent').length]).toEqual([1, 1]);
  });

  it('is found, within the day of its key, where another card is saved by now', async () => {
    const { ask, at, charges } = await scene();
    expect(await ask(renewal(0))).toEqual(PAID);
    at(22);
    expect(await ask(renewal(22), 'pm_other')).toEqual(PAID);
    expect(charges()).toBe(1);
  });

  it('is found where it was begun within the day of its key, and is asked of beyond it', async () => {
    const { ask, at, charges } = await scene();
    await ask(renewal(0));
    at(26);
    expect(await ask(renewal(22))).toEqual(PAID);
    expect(charges()).toBe(1);
  });

  it('is told as it was declined then, and nothing is charged', async () => {
    const { ask, askFirst, at, charges } = await scene();
    await ask(renewal(0), 'pm_declined');
    at(30);
    expect(await askFirst(renewal(30))).toEqual({ type: 'failed', code: 'insufficient_funds', isTerminal: false });
    expect(charges()).toBe(0);
  });

  it.each([
    ['another card is saved by now', 'pm_new', 'pm_new', { declinedMethodId: 'pm_lost' }],
    ['the same card is', 'pm_lost', 'pm_lost', {}],
    ['another is since it was begun, which is blamed for nothing', 'pm_old', 'pm_new', {}],
  ])('is not taken for declined with a card that was never charged: %s', async (_, paymentMethodId, card, of) => {
    const { ask, at, charges } = await scene();
    const declined = { type: 'failed', code: 'lost_card', isTerminal: true, ...of };
    await ask(renewal(0), 'pm_lost');
    at(30);
    expect(await ask(renewal(30, { paymentMethodId }), card)).toEqual(declined);
    at(30 + 24);
    expect(await ask(renewal(30, { paymentMethodId }), card)).toEqual(declined);
    expect(charges()).toBe(0);
  });

  it('is ended where an operator ends it, also where another card was declined, behind which it would be begun again', async () => {
    const { server, ask, withdraw, at } = await scene();
    await ask(renewal(0), 'pm_lost');
    at(30);
    const begun = renewal(30, { paymentMethodId: 'pm_ok' });
    expect(await withdraw(begun)).toMatchObject({ type: 'failed', declinedMethodId: 'pm_lost' });
    const ended = { type: 'abandoned', endedBy: 'operator' };
    expect(await withdraw(begun, { endedBy: 'operator' })).toMatchObject(ended);
    expect(server.all('payment_intent')).toMatchObject([{ status: 'canceled' }]);
  });

  it.each([31, 30 + 24])(
    'is open while it cannot be looked for, and found once it can, %i h into its period',
    async (hours) => {
      const { server, ask, askFirst, at, charges } = await scene();
      await ask(renewal(0));
      at(30);
      server.isUnreadable = true;
      await expect(askFirst(renewal(30))).rejects.toThrow('403');
      at(hours);
      await expect(ask(renewal(30))).rejects.toThrow('403');
      server.isUnreadable = false;
      expect(await ask(renewal(30))).toEqual(PAID);
      expect(charges()).toBe(1);
      expect(server.made(INTENTS).length).toBe(1);
    },
  );

  it('is charged once, under its key, where nothing of its names is there', async () => {
    const { server, ask, askFirst, at, charges } = await scene();
    const period = `renewal_${new Date(hoursIn(1)).toISOString()}`;
    for (const other of [
      ...[{ ledger: 'another' }, { account: 'others' }, { attempt: `${RENEWAL}_x` }, { attempt: `${period}_2` }],
      { attempt: `${RENEWAL}_2`, account: 'others' },
    ]) {
      const { id } = server.putPaid({ ...NAMES, ...other });
      server.change(id, { customer: 'cus_1' });
    }
    at(30);
    const before = charges();
    const paid = await askFirst(renewal(30));
    expect(paid).toMatchObject({ type: 'paid', paidAtMs: hoursIn(30) });
    expect(await ask(renewal(30))).toEqual(paid);
    expect(charges()).toBe(before + 1);
    expect(server.made(INTENTS).map(({ key }) => key)).toEqual([`${LEDGER}/acme/${RENEWAL}`]);
  });

  it('is charged no card that was removed while it was looked for', async () => {
    const { server, provider, at, charges } = await scene();
    at(30);
    let method: ReturnType<typeof cardOf> | null = cardOf('pm_ok');
    server.altered = (answer) => {
      method = null;
      return answer;
    };
    const attempt = stripeAttempt(renewal(30));
    const asked = {
      accountId: accountId('acme'),
      attempt,
      method: () => method,
      saved: () => cardOf('pm_ok'),
      isFirst: true,
      isAnothers: () => false,
    };
    expect(await provider.ask(asked)).toEqual({ type: 'waits', url: null });
    expect(charges()).toBe(0);
  });

  it('has failed where Stripe has its customer no more', async () => {
    const { ask, at } = await scene();
    at(30);
    const card = { ...cardOf('pm_ok'), customerId: 'cus_gone' };
    expect(await ask(renewal(30), card)).toEqual({ type: 'failed', code: 'resource_missing', isTerminal: true });
  });
});

it.each([
  ['a renewal within the day of its key', 22, {}],
  ['what pays for the rest of a period', 30, { kind: 'upgrade' }],
  ['an auto-reload', 30, { kind: 'reload', period: null }],
] as const)('%s is charged without a look', async (_, hours, more) => {
  const { askFirst, at, listed, charges } = await scene();
  at(hours);
  expect(await askFirst(renewal(hours, more))).toMatchObject({ type: 'paid' });
  expect(listed()).toEqual([]);
  expect(charges()).toBe(1);
});

/** What was made under an id of the lost part, of 20 USD or other terms. */
async function lost() {
  const at = await scene();
  const make = (attempt: string, terms: Record<string, unknown> = {}): string => {
    const { id } = at.server.putPaid({ ...NAMES, attempt });
    at.server.change(id, { customer: 'cus_1', ...terms });
    return id;
  };
  const madeHere = () => at.server.made(INTENTS).length;
  return { ...at, make, madeHere };
}

describe('a renewal whose period was charged under another number of its id', () => {
  it.each([
    ['the first, which was declined there', RENEWAL, `${RENEWAL}_2`],
    ['the first, of which nothing is there', null, `${RENEWAL}_12`],
    ['the second, which was declined there', `${RENEWAL}_2`, `${RENEWAL}_3`],
    ['the second, of which nothing is there, and the first has paid', null, RENEWAL],
  ])('is paid by that: %s', async (_, declined, paid) => {
    const { ask, askFirst, at, make, charges, madeHere } = await lost();
    const asked = { attemptId: attemptId(declined ?? (paid === RENEWAL ? `${RENEWAL}_2` : RENEWAL)) };
    if (declined !== null) await ask(renewal(0, asked), 'pm_lost');
    at(25);
    const id = make(paid);
    at(30);
    const [before, made] = [charges(), madeHere()];
    const outcome = { ...PAID, paymentId: id, paidAtMs: hoursIn(25) };
    expect(await askFirst(renewal(30, asked))).toEqual(outcome);
    at(30 + 24);
    expect(await ask(renewal(30, asked))).toEqual(outcome);
    expect([charges(), madeHere()]).toEqual([before, made]);
  });

  it.each(['processing', 'requires_capture'])(
    'waits while that is being paid (%s), and ends nothing of it',
    async (status) => {
      const { server, ask, at, make, madeHere } = await lost();
      const id = make(`${RENEWAL}_2`, { status, amount_received: 0, latest_charge: null });
      at(30);
      expect(await ask(renewal(30))).toEqual({ type: 'waits', url: null });
      at(30 + 24);
      expect(await ask(renewal(30))).toEqual({ type: 'waits', url: null });
      expect(server.get(id).status).toBe(status);
      server.settle(id);
      expect(await ask(renewal(30))).toMatchObject({ type: 'paid', paymentId: id });
      expect(madeHere()).toBe(0);
    },
  );

  it('is charged where that was declined', async () => {
    const { ask, askFirst, at, charges } = await lost();
    await ask(renewal(0, { attemptId: attemptId(`${RENEWAL}_2`) }), 'pm_lost');
    at(30);
    expect(await askFirst(renewal(30))).toMatchObject({ type: 'paid', paidAtMs: hoursIn(30) });
    expect(charges()).toBe(1);
  });

  it.each([
    ['an attempt that the ledger knows, as given up', `${RENEWAL}_2`, { state: 'abandoned' }],
    ['a payment that has paid another there', `${RENEWAL}_3`, { state: 'paid', paymentId: paymentId('pi_1') }],
    ['a payment of its own id that has paid another there', RENEWAL, { state: 'paid', paymentId: paymentId('pi_1') }],
  ] as const)('is not paid by %s', async (_, made, known) => {
    const { provider, at, make, charges } = await lost();
    expect(make(made)).toBe('pi_1');
    at(30);
    const attempt = stripeAttempt(renewal(30));
    const other = stripeAttempt(renewal(0, { attemptId: attemptId(`${RENEWAL}_2`), ...known }));
    const payments = [attempt, other].reduce(withAttempt, NO_PAYMENTS);
    const isAnothers = isAnothersIn(() => payments, attempt);
    const saved = () => cardOf('pm_ok');
    const asked = { accountId: accountId('acme'), attempt, method: saved, saved, isFirst: false, isAnothers };
    expect(await provider.ask(asked)).toMatchObject({ type: 'paid', paidAtMs: hoursIn(30) });
    expect(charges()).toBe(2);
  });
});

describe('a renewal that was charged on other terms', () => {
  const OTHER = [{ amount: 2_500, amount_received: 2_500 }, { currency: 'eur' }];

  it.each(OTHER)('%o is charged on its own, under its key', async (terms) => {
    const { server, ask, askFirst, at, make, madeHere } = await lost();
    for (const attempt of [RENEWAL, `${RENEWAL}_2`]) make(attempt, terms);
    at(30);
    const paid = await askFirst(renewal(30));
    expect(paid).toMatchObject({ type: 'paid', amount: 20_000_000n, paidAtMs: hoursIn(30) });
    expect(await ask(renewal(30))).toEqual(paid);
    expect(server.made(INTENTS)[0]?.key).toBe(`${LEDGER}/acme/${RENEWAL}`);
    at(30 + 25);
    expect(await ask(renewal(30))).toEqual(paid);
    expect(madeHere()).toBe(1);
  });

  it.each(OTHER)('%o is ended by an operator', async (terms) => {
    const { withdraw, at, make } = await lost();
    for (const attempt of [RENEWAL, `${RENEWAL}_2`]) make(attempt, terms);
    at(30);
    expect(await withdraw(renewal(30), { endedBy: 'operator' })).toMatchObject({
      ...{ type: 'abandoned', endedBy: 'operator' },
    });
  });

  it.each(OTHER)('%o is given up, and ended by an operator, once its own key is forgotten', async (terms) => {
    const { server, ask, withdraw, at, make } = await lost();
    make(RENEWAL, terms);
    at(30);
    const outcome = { type: 'abandoned', reason: 'Stripe has nothing of it' };
    expect(await ask(renewal(1))).toEqual(outcome);
    expect(await withdraw(renewal(1), { endedBy: 'operator' })).toEqual(outcome);
    expect(server.made(INTENTS)).toEqual([]);
  });
});

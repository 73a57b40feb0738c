import { describe, expect, it } from 'vitest';
import { accountId, attemptId } from '../../../contracts/ids.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { usd } from '../../fixtures/ledger/example-account.ts';
import { cardOf, LEDGER, STARTED_MS, stripeAttempt, stripeScene } from '../../fixtures/stripe/stripe-example.ts';

const HOUR_MS = 3_600_000;
const INTENTS = '/v1/payment_intents';
const NAMES = { ledger: LEDGER, account: 'acme', attempt: 'renewal_1', kind: 'renewal' };
const PAID = { type: 'paid', paymentId: 'pi_1', amount: 20_000_000n, paidAtMs: STARTED_MS };
const hoursIn = (hours: number): number => STARTED_MS + hours * HOUR_MS;

/** Of the period that began as the scene does, begun some hours later. */
const renewal = (hours: number, more: Partial<PaymentAttempt> = {}): Partial<PaymentAttempt> => ({
  ...{ kind: 'renewal', attemptId: attemptId('renewal_1'), startedAtMs: hoursIn(hours) },
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
    for (const other of [{ ledger: 'another' }, { account: 'others' }, { attempt: 'renewal_1_2' }]) {
      const { id } = server.putPaid({ ...NAMES, ...other });
      server.change(id, { customer: 'cus_1' });
    }
    at(30);
    const before = charges();
    const paid = await askFirst(renewal(30));
    expect(paid).toMatchObject({ type: 'paid', paidAtMs: hoursIn(30) });
    expect(await ask(renewal(30))).toEqual(paid);
    expect(charges()).toBe(before + 1);
    expect(server.made(INTENTS).map(({ key }) => key)).toEqual([`${LEDGER}/acme/renewal_1`]);
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
    const asked = { accountId: accountId('acme'), attempt, method: () => method, isFirst: true };
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

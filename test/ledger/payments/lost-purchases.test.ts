import { describe, expect, it } from 'vitest';
import { attemptId } from '../../../contracts/ids.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { usd } from '../../fixtures/ledger/example-account.ts';
import { STARTED_MS, stripeScene } from '../../fixtures/stripe/stripe-example.ts';

const HOUR_MS = 3_600_000;
const MINUTE = 1 / 60;
const hoursIn = (hours: number): number => STARTED_MS + hours * HOUR_MS;
const OTHERS = { type: 'refused', reason: 'Stripe has a Checkout session of another amount under its id (cs_1)' };
const WAITS = { type: 'waits', url: null };

/** Begun some hours after the one of 20 USD, under its id, by a ledger that has lost that one. */
const begun = (hours: number): Partial<PaymentAttempt> => ({
  ...{ kind: 'purchase', attemptId: attemptId('bought'), startedAtMs: hoursIn(hours) },
  ...{ credits: usd(30_000_000), price: usd(30_000_000) },
});

/** A page of 20 USD was made, and the ledger does not know of it any more. */
async function lost() {
  const { time, ...stripe } = await stripeScene();
  await stripe.ask({ ...begun(0), credits: usd(20_000_000), price: usd(20_000_000) });
  const pages = () => stripe.server.all('checkout.session');
  return { ...stripe, pages, at: (hours: number) => (time.nowMs = hoursIn(hours)) };
}

describe('a purchase under the id of one of another amount that a ledger has lost', () => {
  it.each([
    ['paid, a minute before', true, MINUTE],
    ['paid, most of a day before', true, 21],
    ['open, a minute before', false, MINUTE],
  ] as const)('is over as it is begun, and when an operator ends it: %s', async (_, isPaid, hours) => {
    const { server, ask, askFirst, withdraw, pages, at } = await lost();
    if (isPaid) server.pay('cs_1');
    const before = structuredClone(pages());
    at(hours);
    expect(await askFirst(begun(hours))).toEqual(OTHERS);
    for (const asked of [ask, withdraw]) expect(await asked(begun(hours))).toEqual(OTHERS);
    expect(pages()).toEqual(before);
  });

  it('is over once whoever was asking has ended, where nobody could ask within the day of its key', async () => {
    const { server, ask, withdraw, pages, at } = await lost();
    server.pay('cs_1');
    at(23.2);
    for (const asked of [ask, withdraw]) expect(await asked(begun(MINUTE))).toEqual(WAITS);
    for (const [hours, started] of [
      [24, MINUTE],
      [52, MINUTE],
      [52, 20],
    ] as const) {
      at(hours);
      for (const asked of [ask, withdraw]) expect(await asked(begun(started))).toEqual(OTHERS);
    }
    expect(pages().length).toBe(1);
  });

  // The ledger was put back twice: the second backup has what was begun before, and is not of the time that has the page.
  it.each([2, 22])('is over, too, where it was begun %i hours before, and put back after it', async (hours) => {
    const { server, ask, withdraw, pages, at } = await lost();
    server.pay('cs_1');
    at(24);
    for (const asked of [ask, withdraw]) expect(await asked(begun(-hours))).toEqual(OTHERS);
    expect(pages().length).toBe(1);
  });

  it('is open where that key may be over before whoever asks has ended, and is paid on a page of its own once it is', async () => {
    const { server, ask, askFirst, pages, at } = await lost();
    server.pay('cs_1');
    at(22.5);
    await expect(askFirst(begun(22.5))).rejects.toThrow('StripeIdempotencyError');
    at(24.5);
    expect(await ask(begun(22.5))).toMatchObject({ type: 'waits', url: expect.stringMatching(/cs_\d+$/) });
    expect(pages()).toMatchObject([{ amount_total: 2_000 }, { amount_total: 3_000, status: 'open' }]);
    server.pay(pages()[1]?.id ?? '');
    for (const hours of [24.6, 22.5 + 24]) {
      at(hours);
      expect(await ask(begun(22.5))).toMatchObject({ type: 'paid', amount: 30_000_000n });
    }
  });

  it('is its own where both are found without their key', async () => {
    const { server, ask, at } = await lost();
    server.pay('cs_1');
    at(24.5);
    const { url } = (await ask(begun(24.5))) as { readonly url: string };
    server.pay(url.split('/').at(-1) ?? '');
    const { id: _, created: __, ...others } = server.get('cs_1');
    server.put('checkout/sessions', others);
    at(24.5 + 25);
    expect(await ask(begun(24.5))).toMatchObject({ type: 'paid', amount: 30_000_000n });
  });

  it('is not ended for what is of another attempt, account or ledger', async () => {
    const { server, ask, at } = await lost();
    const { metadata } = server.get('cs_1');
    for (const other of [{ attempt: 'bought_2' }, { account: 'others' }, { ledger: 'led_other' }]) {
      server.change('cs_1', { metadata: { ...(metadata as object), ...other } });
      at(1);
      await expect(ask(begun(1))).rejects.toThrow('StripeIdempotencyError');
      at(26);
      expect(await ask(begun(1))).toMatchObject({ type: 'abandoned', reason: 'Stripe has nothing of it' });
    }
  });

  it.each([{ currency: 'eur', amount_total: 3_000 }, { amount_total: null }])('is not paid by %o', async (of) => {
    const { server, ask, at } = await lost();
    server.pay('cs_1');
    server.change('cs_1', of);
    at(26);
    expect(await ask(begun(MINUTE))).toEqual(OTHERS);
  });
});

it('a purchase that was paid hours before, in a part that a ledger has lost, is found where nobody could ask within the day of its key', async () => {
  const { server, ask, withdraw, pages, at } = await lost();
  server.pay('cs_1');
  at(28);
  const again = { ...begun(4), credits: usd(20_000_000), price: usd(20_000_000) };
  for (const asked of [ask, withdraw]) expect(await asked(again)).toMatchObject({ type: 'paid', amount: 20_000_000n });
  expect(pages().length).toBe(1);
});

describe('a purchase under the id of one of the same amount, paid days before in a part that a ledger has lost', () => {
  const same = { credits: usd(20_000_000), price: usd(20_000_000) };
  const again = { ...begun(72), ...same };

  it('is what was paid, and no page is made on which it could be paid once more', async () => {
    const { server, ask, askFirst, withdraw, pages, at } = await lost();
    server.pay('cs_1');
    at(72);
    const paid = { type: 'paid', amount: 20_000_000n, paidAtMs: STARTED_MS };
    for (const asked of [askFirst, ask, withdraw]) expect(await asked(again)).toMatchObject(paid);
    at(72 + 25);
    expect(await ask(again)).toMatchObject(paid);
    expect(pages().length).toBe(1);
  });

  it('has a page of its own where that one was not paid, and is looked for once', async () => {
    const { server, ask, askFirst, pages, at } = await lost();
    at(72);
    for (const asked of [askFirst, ask, ask])
      expect(await asked(again)).toMatchObject({ type: 'waits', url: expect.stringMatching(/cs_\d+$/) });
    expect(pages().length).toBe(2);
    expect(server.asked.filter(({ path }) => path.endsWith('/search')).length).toBe(2);
  });

  it.each([
    ['attempt', 'bought_2'],
    ['attempt', 'BOUGHT'],
    ['account', 'others'],
    ['ledger', 'led_other'],
  ])('has a page of its own where what was paid is of another %s, %s', async (name, value) => {
    const { server, askFirst, pages, at } = await lost();
    server.pay('cs_1');
    const [intent] = server.all('payment_intent');
    server.change(intent?.id ?? '', { metadata: { ...(intent?.metadata as object), [name]: value } });
    at(72);
    expect(await askFirst(again)).toMatchObject({ type: 'waits' });
    expect(pages().length).toBe(2);
  });

  it.each([
    ['amount', { amount: 1_999 }],
    ['currency', { currency: 'eur' }],
  ])('has a page of its own where what was paid is of another %s', async (_, paid) => {
    const { server, askFirst, pages, at } = await lost();
    server.pay('cs_1');
    server.change(server.all('payment_intent')[0]?.id ?? '', paid);
    at(72);
    expect(await askFirst(again)).toMatchObject({ type: 'waits' });
    expect(pages().length).toBe(2);
  });

  it('is open, and has no page, while it is not known', async () => {
    const { server, askFirst, pages, at } = await lost();
    server.pay('cs_1');
    at(72);
    server.altered = (answer, { path }) => (path.endsWith('/search') ? { ...answer, data: null } : answer);
    await expect(askFirst(again)).rejects.toThrow('cannot be read');
    expect(pages().length).toBe(1);
    server.altered = null;
    expect(await askFirst(again)).toMatchObject({ type: 'paid' });
  });

  it('has a page of its own where Stripe does not search', async () => {
    const { server, askFirst, pages, at } = await lost();
    server.pay('cs_1');
    server.hasNoSearch = true;
    at(72);
    expect(await askFirst(again)).toMatchObject({ type: 'waits' });
    expect(pages().length).toBe(2);
  });
});

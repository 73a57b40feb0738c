import { expect, it, onTestFinished, vi } from 'vitest';
import { buyingSite, PURCHASE, reloadOf } from './begun-sites.ts';
import { countsOf, LOOK, openOf } from './killed-site.ts';

/** Of a request to Stripe, to the last byte of its answer. */
const REQUEST_MS = 20_000;

it.each([
  ['charge', reloadOf('pm_ok'), '/v1/payment_intents'],
  ['page', PURCHASE, '/v1/checkout/sessions'],
] as const)(
  'a %s that Stripe makes, and does not answer within the time of its request, is asked of again under its key, and paid and granted once',
  async (what, commands, path) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { server, done, read, balance } = await buyingSite(commands);
    for (let times = 0; times < 2; times++) {
      server.beforeAnswer = () => {
        vi.advanceTimersByTime(REQUEST_MS);
        return true;
      };
      await expect(done(LOOK)).rejects.toThrow(/^Stripe could not be asked, or has refused: StripeConnectionError$/);
      const { account, events } = await read();
      expect(openOf(account).length).toBe(1);
      expect(countsOf(events, ['PaymentSucceeded', 'PaymentFailed', 'PaymentAbandoned'])).toEqual([0, 0, 0]);
    }
    server.beforeAnswer = null;
    if (what === 'page') server.pay(server.all('checkout.session')[0]?.id ?? '');
    await done(LOOK);
    expect(await balance()).toBe(20_000_000n);
    expect(countsOf((await read()).events, ['AutoReloadStarted', 'PurchaseStarted'])).toEqual(
      what === 'page' ? [0, 1] : [1, 0],
    );
    const keys = server.made(path).map(({ key }) => key);
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  },
);

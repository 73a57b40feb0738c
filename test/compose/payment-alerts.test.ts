import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { attemptId } from '../../contracts/ids.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { readLedgerState } from '../../ledger/identity/ledger-state.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { usd } from '../fixtures/ledger/example-account.ts';
import { SECRET_KEY, StripeServer, WEBHOOK_SECRET } from '../fixtures/stripe/stripe-server.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { AlertGroup } from './alert-group.ts';
import { hasPromtool } from './promtool.ts';
import { type Page, scrape } from './scrape.ts';

const DAY_MS = 86_400_000;
const PRICE = usd(20_000_000);

/** A gateway whose payments Stripe takes. */
async function scene() {
  const server = endedLater(await StripeServer.start());
  const clock = { nowMs: Date.now() };
  const folder = temporaryFolder();
  const secret = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const stripe = {
    secretKeyFile: secret('key', SECRET_KEY),
    webhookSecrets: [{ file: secret('webhook', WEBHOOK_SECRET) }],
    ...{ successUrl: 'https://app.example/paid', baseUrl: server.url },
  };
  const settings = { metrics: { serve: { port: 0 } }, payments: { provider: 'stripe', stripe } };
  const gateway = endedLater(await startTestGateway({ settings, clock: () => clock.nowMs }));
  const { payments } = gateway.gateway.process;
  const purchase = (id: string, provider = 'stripe'): AccountCommand => ({
    ...{ type: 'StartPurchase', attemptId: attemptId(id), provider, amount: PRICE, price: PRICE },
    ...{ by: 'test', nowMs: clock.nowMs },
  });
  const deliver = async (signing = {}) => {
    const told = server.events.findLast(({ type }) => type === 'payment_intent.succeeded');
    if (told === undefined) throw new Error('Stripe tells of no payment');
    return server.deliver(`${gateway.gateway.metricsUrl}/webhooks/stripe`, told, signing);
  };
  return {
    ...{ server, clock, payments },
    /** As Stripe keeps them of what is paid here. */
    names: async () => ({
      ledger: (await readLedgerState(gateway.log)).identity?.ledgerId,
      account: gateway.accountId,
      kind: 'purchase',
    }),
    page: () => scrape(gateway.gateway.metricsUrl),
    begin: async (id: string, provider?: string) => {
      await gateway.command(purchase(id, provider));
      await payments.look();
    },
    /** Somebody pays on the newest page, and Stripe tells of it. */
    pay: async (signing = {}) => {
      server.pay(server.all('checkout.session').at(-1)?.id ?? '');
      return deliver(signing);
    },
    deliver,
  };
}

const group = new AlertGroup('payments');

/** Where it goes on as it did between the two pages. */
const expectFiring = (alerts: readonly string[], before: Page, after: Page): void =>
  group.expectFiring(alerts, [{ job: 'gateway', before, after }]);

describe.skipIf(!hasPromtool)('alerts of compose.yaml about payments', () => {
  it('are silent where payments are made, and told of, also where one fails, or waits for an operator', async () => {
    const { server, clock, page, begin, pay, payments } = await scene();
    const before = await page();
    await begin('one');
    expect(await pay()).toBe(200);
    await begin('two');
    server.isAway = true;
    await payments.look();
    server.isAway = false;
    await payments.look();
    clock.nowMs += DAY_MS / 2;
    expect(await page()).toMatch(/^gateway_payments_open\{provider="stripe"\} 1$/m);
    expectFiring([], before, await page());
    // Its page has had its time.
    server.expire(server.all('checkout.session').at(-1)?.id ?? '');
    await payments.look();
    await begin('three', 'manual');
    clock.nowMs += 2 * DAY_MS;
    const after = await page();
    expect(after).toMatch(/^gateway_payments_open\{provider="manual"\} 1$/m);
    expectFiring([], before, after);
  });

  it('tell of a provider that is away, or refuses, and later of what nobody knows the end of', async () => {
    const { server, clock, page, begin, payments } = await scene();
    const before = await page();
    server.isAway = true;
    await begin('one');
    expectFiring(['PaymentProviderFailing'], before, await page());
    clock.nowMs += DAY_MS + 1_000;
    await payments.look();
    expectFiring(['PaymentProviderFailing', 'PaymentsOpenLong'], before, await page());
  });

  it('tell of a provider that refuses to make payments', async () => {
    const { server, page, begin, payments } = await scene();
    const before = await page();
    server.faults.push('forbidden');
    await begin('one');
    await begin('two');
    await payments.look();
    expect(await page()).toMatch(/^gateway_payment_asks_total\{outcome="refused"\} 1$/m);
    expectFiring(['PaymentsRefused'], before, await page());
  });

  it('tell of messages that nobody has proven to be the provider’s', async () => {
    const { page, begin, pay } = await scene();
    await begin('one');
    const before = await page();
    expect(await pay({ secrets: ['whsec_of_another'] })).toBe(400);
    expectFiring(['WebhooksRefused'], before, await page());
  });

  it('tell of messages about money that cannot be written down, of an attempt that nobody has begun', async () => {
    const { server, page, begin, deliver, names } = await scene();
    await begin('one');
    const before = await page();
    server.putPaid({ ...(await names()), attempt: 'lost' }, 'payment_intent.succeeded');
    expect(await deliver()).toBe(409);
    expectFiring(['WebhooksRefused'], before, await page());
  });

  it('tell of messages that are put off, and not of one that was heard when it was told again', async () => {
    const { server, page, begin, pay, deliver } = await scene();
    await begin('one');
    const before = await page();
    server.isAway = true;
    expect(await pay()).toBe(503);
    expectFiring(['PaymentProviderFailing', 'WebhooksUnheard'], before, await page());
    server.isAway = false;
    expect(await deliver()).toBe(200);
    expectFiring([], before, await page());
  });

  it('have all fired here', (context) => {
    expect(group.silentIn(context)).toEqual([]);
  });
});

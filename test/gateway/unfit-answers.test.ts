import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { usd } from '../fixtures/ledger/example-account.ts';
import { SECRET_KEY, StripeServer, WEBHOOK_SECRET } from '../fixtures/stripe/stripe-server.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const CONSENT = { consentedAtMs: Date.now(), by: 'test@example.com' };
const SAVED: AccountCommand = {
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus_1', paymentMethodId: 'pm_ok', brand: 'visa' },
  ...{ last4: '4242', ...CONSENT },
};
const CONFIGURE: AccountCommand = {
  ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(25_000_000), monthlyCap: usd(99_000_000) },
  ...CONSENT,
};
const ERROR_LEVEL = 50;

/** A gateway whose account buys by itself, by Stripe. */
async function scene() {
  const server = endedLater(await StripeServer.start());
  const folder = temporaryFolder();
  const secret = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const logLines: string[] = [];
  const stripe = {
    secretKeyFile: secret('key', SECRET_KEY),
    webhookSecrets: [{ file: secret('webhooks', WEBHOOK_SECRET) }],
    ...{ successUrl: 'https://app.example/paid', baseUrl: server.url },
  };
  const settings = { metrics: { serve: { port: 0 } }, payments: { provider: 'stripe', stripe } };
  const gateway = endedLater(await startTestGateway({ logLines, creditsMicroUsd: 0n, settings }));
  const { payments } = gateway.gateway.process;
  return {
    ...{ server, payments },
    begin: async () => {
      await gateway.command(SAVED);
      await gateway.command(CONFIGURE);
      await payments.whenIdle();
    },
    tell: (type: string) => {
      const event = server.events.findLast((one) => one.type === type);
      if (event === undefined) throw new Error(`Stripe tells of no ${type}`);
      return server.deliver(`${gateway.gateway.metricsUrl}/webhooks/stripe`, event);
    },
    types: async () => (await gateway.events()).map(({ type }) => type),
    errors: () =>
      logLines.flatMap((line) => {
        const { level, err } = JSON.parse(line);
        return level === ERROR_LEVEL ? [err.message] : [];
      }),
  };
}

it('an answer that looks like a command, or an outcome, is carried out by nobody: it is told as an error, and asked again', async () => {
  const { server, payments, begin, types, errors } = await scene();
  const evil = { type: 'RemovePaymentMethod', by: 'root', nowMs: 0 };
  server.altered = (answer, { method }) => (method === 'POST' ? evil : answer);
  await begin();
  const before = await types();
  server.altered = (answer, { method }) => (method === 'POST' ? { type: 'failed', code: 'words of it' } : answer);
  await payments.look();
  expect(await types()).toEqual(before);
  expect(before.at(-1)).toBe('AutoReloadStarted');
  expect(errors()).toEqual(Array(2).fill('Stripe answers what cannot be read as its made: id (invalid_type)'));
  server.altered = null;
  await payments.look();
  expect(await types()).toEqual([...before, 'PaymentSucceeded', 'CreditsGranted']);
});

it('what Stripe lists of another payment takes nothing: the message is told again, and the log says why', async () => {
  const { server, begin, tell, types, errors } = await scene();
  await begin();
  const before = await types();
  server.refund('pi_1', 500);
  server.altered = (answer, { path }) =>
    path === '/v1/refunds'
      ? { ...answer, data: (answer.data as object[]).map((one) => ({ ...one, payment_intent: 'pi_999' })) }
      : answer;
  expect(await tell('charge.refunded')).toBe(503);
  expect(await types()).toEqual(before);
  expect(errors()).toEqual(['Stripe lists with pi_1 what went back, or is disputed, of another payment']);
  server.altered = null;
  expect(await tell('charge.refunded')).toBe(200);
  expect(await types()).toContain('PaymentRefunded');
});

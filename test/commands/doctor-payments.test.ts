import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { attemptId } from '../../contracts/ids.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { openAccount } from '../fixtures/gateway/open-account.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { usd } from '../fixtures/ledger/example-account.ts';
import { SECRET_KEY, StripeServer } from '../fixtures/stripe/stripe-server.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { doctor } from './doctored.ts';

const DAY_MS = 86_400_000;
const DAYS_AGO = (days: number): number => Date.now() - days * DAY_MS;
const purchase = (id: string, nowMs: number): AccountCommand => ({
  ...{ type: 'StartPurchase', attemptId: attemptId(id), provider: 'manual', amount: usd(5), price: usd(5) },
  ...{ by: 'test', nowMs },
});

it('payments that are open for more than a day, and accounts that have nothing to charge, are told with what to do', async () => {
  const gateway = await startTestGateway();
  const config = join(gateway.data, 'gateway.json');
  const found = async () => (await doctor(config)).of('paying accounts');
  const written = () => gateway.gateway.process.projections.whenWritten();
  await gateway.command(purchase('young', DAYS_AGO(0.5)));
  await written();
  expect(await found()).toMatchObject({ state: 'ok', advice: null });
  const { accountId: other } = await openAccount(gateway);
  await gateway.command(purchase('old', DAYS_AGO(2)), other);
  const consent = { consentedAtMs: DAYS_AGO(1), by: 'o@example.com' };
  const amounts = { threshold: usd(5_000_000), target: usd(25_000_000), monthlyCap: usd(99_000_000) };
  await gateway.command({ type: 'ConfigureAutoReload', ...amounts, ...consent }, other);
  await written();
  expect(await found()).toMatchObject({
    state: 'warn',
    says: expect.stringMatching(
      new RegExp(
        `^1 payment open for more than a day: ${other} old \\(manual, .*\\); 1 account with auto-reload and nothing to charge: ${other}$`,
      ),
    ),
    advice:
      `gateway payment ask ACCOUNT ATTEMPT --config ${config}, or of manual ones gateway payment confirm ACCOUNT ATTEMPT --config ${config}, ` +
      `or gateway payment decline ACCOUNT ATTEMPT --reason "…" --config ${config}; ` +
      `gateway payment save-method ACCOUNT --id "…" --brand "…" --last4 "…" --config ${config}`,
  });
  await gateway.stop();
  writeFileSync(join(gateway.data, 'views.db'), 'no database');
  expect(await found()).toMatchObject({ state: 'warn', says: expect.stringContaining('the views cannot be read') });
});

it('a payment by itself that its provider refuses is told until another is decided, or none is wanted', async () => {
  const server = endedLater(await StripeServer.start());
  const clock = { nowMs: Date.now() };
  const secretKeyFile = join(temporaryFolder(), 'key');
  writeFileSync(secretKeyFile, SECRET_KEY);
  const stripe = { secretKeyFile, successUrl: 'https://app.example/paid', baseUrl: server.url };
  const settings = { metrics: { serve: { port: 0 } }, payments: { provider: 'stripe', stripe } };
  const gateway = await startTestGateway({ settings, clock: () => clock.nowMs });
  const { accountId } = await openAccount(gateway);
  const { payments, projections } = gateway.gateway.process;
  const found = async () => {
    await payments.look();
    await projections.whenWritten();
    return (await doctor(join(gateway.data, 'gateway.json'))).of('paying accounts');
  };
  const configured = (consentedAtMs: number | null): AccountCommand => ({
    ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000_000), target: usd(5_010_000_000) },
    ...{ monthlyCap: usd(9_000_000_000), consentedAtMs, by: 'o@example.com' },
  });
  const save = (paymentMethodId: string): AccountCommand => ({
    ...{
      type: 'SavePaymentMethod',
      provider: 'stripe',
      customerId: 'c',
      paymentMethodId,
      brand: 'visa',
      last4: '4242',
    },
    ...{ consentedAtMs: clock.nowMs, by: 'o@example.com' },
  });
  await gateway.command(save('pm_ok'), accountId);
  server.faults.push('forbidden', 'forbidden');
  await gateway.command(configured(clock.nowMs), accountId);
  expect(await found()).toMatchObject({
    state: 'warn',
    says: expect.stringMatching(
      new RegExp(
        `^1 payment given up, with nothing charged, to be begun again later: ${accountId} reload_\\w+ \\(stripe\\)$`,
      ),
    ),
    advice: expect.stringMatching(/^gateway ledger replay ACCOUNT --config \S+gateway\.json says why/),
  });
  await gateway.command(configured(null), accountId);
  expect(await found()).toMatchObject({ state: 'ok' });
  server.faults.push('forbidden', 'forbidden');
  await gateway.command(configured(clock.nowMs), accountId);
  expect(await found()).toMatchObject({ state: 'warn' });
  // What a bank declines is its owner's matter.
  clock.nowMs += 1_000;
  await gateway.command(save('pm_declined'), accountId);
  expect(await found()).toMatchObject({ state: 'ok' });
  expect(server.made('/v1/payment_intents').at(-1)?.params).toMatchObject({ payment_method: 'pm_declined' });
  await gateway.stop();
});

it('whether the payment provider can be reached is a look of its own, at which nothing is sent', async () => {
  const heard: Buffer[] = [];
  const server = createServer((socket) => socket.on('data', (bytes) => heard.push(bytes)).on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const folder = temporaryFolder();
  const [config, secretKeyFile] = [join(folder, 'gateway.json'), join(folder, 'key')];
  writeFileSync(secretKeyFile, SECRET_KEY);
  const stripe = { secretKeyFile, successUrl: 'https://app.example/paid', baseUrl: `http://127.0.0.1:${port}` };
  writeFileSync(config, JSON.stringify({ data: join(folder, 'data'), payments: { provider: 'stripe', stripe } }));
  const found = async () => (await doctor(config)).of('payment provider');
  expect(await found()).toEqual({
    ...{ check: 'payment provider', state: 'ok', says: `127.0.0.1:${port} can be reached`, advice: null },
  });
  server.close();
  await once(server, 'close');
  expect(await found()).toMatchObject({ state: 'fault', advice: expect.stringContaining('nobody can pay') });
  expect(heard).toEqual([]);
});

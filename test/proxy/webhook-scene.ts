import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { attemptId } from '../../contracts/ids.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { readLedgerState } from '../../ledger/identity/ledger-state.ts';
import { isTelling } from '../../ledger/payments/payment-provider.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { usd } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { SECRET_KEY, StripeServer, WEBHOOK_SECRET } from '../fixtures/stripe/stripe-server.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { faultsOf } from '../ledger/audit/account-faults.ts';

export const PRICE = usd(20_000_000);
const CONSENT = { consentedAtMs: Date.now(), by: 'test@example.com' };
const PURCHASE: AccountCommand = {
  ...{ type: 'StartPurchase', attemptId: attemptId('bought'), provider: 'stripe', amount: PRICE, price: PRICE },
  ...{ by: 'test', nowMs: Date.now() },
};
export const CONFIGURE: AccountCommand = {
  ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(25_000_000), monthlyCap: usd(99_000_000) },
  ...CONSENT,
};
export const savedCard = (paymentMethodId: string): AccountCommand => ({
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus_1', paymentMethodId, brand: 'visa' },
  ...{ last4: '4242', ...CONSENT },
});

const ledgerOf = async (log: MemoryEventLog) => String((await readLedgerState(log)).identity?.ledgerId);

/** A gateway whose payments Stripe takes, with an account of nothing, and Stripe. */
export async function scene({ log = new MemoryEventLog(), clock = Date.now } = {}) {
  const server = endedLater(await StripeServer.start());
  server.nowMs = clock;
  const folder = temporaryFolder();
  const secret = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const logLines: string[] = [];
  let agreed = 0;
  const stripe = {
    secretKeyFile: secret('key', SECRET_KEY),
    webhookSecrets: [{ file: secret('old', 'whsec_of_before') }, { file: secret('new', WEBHOOK_SECRET) }],
    ...{ successUrl: 'https://app.example/paid', baseUrl: server.url },
  };
  const gateway = endedLater(
    await startTestGateway({
      ...{ log, logLines, creditsMicroUsd: 0n, clock },
      settings: { metrics: { serve: { port: 0 } }, payments: { provider: 'stripe', stripe }, logLevel: 'trace' },
    }),
  );
  const { payments, projections, provider } = gateway.gateway.process;
  if (!isTelling(provider)) throw new Error('Stripe tells');
  const place = `${gateway.gateway.metricsUrl}/webhooks/stripe`;
  const event = (type: string) => {
    const found = server.events.findLast((one) => one.type === type);
    if (found === undefined) throw new Error(`Stripe tells of no ${type}`);
    return found;
  };
  const account = () => {
    const { state } = projections.accounts.read(gateway.accountId);
    if (state.type === 'unopened') throw new Error('it is open');
    return state;
  };
  const types = async () =>
    (await gateway.events()).map((one) => one.type).filter((type) => /Purchase|Pay|Refund|Dis|Grant|Reload/.test(type));
  return {
    ...{ server, gateway, place, event, account, types, logLines, log, payments },
    tell: (type: string, signing = {}) => server.deliver(place, event(type), signing),
    /** Begins a purchase, and has its page made. */
    begin: async () => {
      await gateway.command(PURCHASE);
      await payments.look();
      return server.all('checkout.session').at(-1)?.id ?? '';
    },
    NAMES: { ledger: await ledgerOf(log), account: gateway.accountId, attempt: 'bought', kind: 'purchase' },
    /** Pages on which an owner is to agree to a card, and that they do, each later than what was before. */
    beginMethod: async () =>
      (await provider.beginMethod({ accountId: gateway.accountId, by: 'ada', customerId: null })).id,
    agree: (page: string, card: string) => {
      const at = Date.now() + 10_000 * ++agreed;
      server.nowMs = () => at;
      server.consent(page, card);
      server.nowMs = Date.now;
      return event('checkout.session.completed');
    },
    /** As the auditor finds them, who has been told of another account. */
    faults: async () => {
      const events = await gateway.events();
      for (const { data, metadata } of log.events)
        if (data.includes('"actor"')) expect(JSON.parse(data).actor).toBe(JSON.parse(metadata).actor);
      return faultsOf(events as never).filter((fault) => !fault.includes('the account that is opened'));
    },
  };
}

export const GRANTED = ['PurchaseStarted', 'PaymentSucceeded', 'CreditsGranted'];

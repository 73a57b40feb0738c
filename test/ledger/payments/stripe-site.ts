import { join } from 'node:path';
import pino from 'pino';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import { EMPTY_CATALOG } from '../../../ledger/catalog/catalog-state.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { pursuePayments } from '../../../ledger/payments/pursue-payments.ts';
import { StripeProvider } from '../../../ledger/payments/stripe-provider.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { PaymentWebhooks } from '../../../proxy/payment-webhooks.ts';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { LEDGER, STRIPE_OF_TESTS, stripeConfiguration } from '../../fixtures/stripe/stripe-example.ts';

interface Site {
  /** With the ledger. */
  readonly data: string;
  /** Stripe's. */
  readonly url: string;
  /** A message of Stripe's, with its signature, to be heard; otherwise what is open is looked after, once. */
  readonly message: { readonly body: string; readonly signature: string } | null;
  /** Told of each append, before and after. */
  readonly at: (instant: string) => void;
}

/** Looks after the payments of the example's account, asking Stripe. @returns what a message is answered with */
export async function runSite({ data, url, message, at }: Site): Promise<number | null> {
  const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
  const provider = new StripeProvider({
    ...{ configuration: stripeConfiguration(url), secrets: STRIPE_OF_TESTS },
    ...{ ledgerId: async () => LEDGER, clock: Date.now },
  });
  const told = Object.assign(Object.create(log), {
    append: async (...[stream, revision, events]: Parameters<typeof log.append>) => {
      at(`before ${events[0]?.type}`);
      const result = await log.append(stream, revision, events);
      at(`after ${events[0]?.type}`);
      return result;
    },
    readStream: log.readStream.bind(log),
  });
  const accounts = new AccountViews();
  await catchUpAccount(log, accounts, ACCOUNT);
  const parts = { log: told, accounts, product: 'gateway', provider, clock: Date.now };
  const onUnknown = (error: unknown): void => {
    throw error;
  };
  const answered =
    message === null
      ? await pursuePayments(ACCOUNT, {
          ...parts,
          catalog: () => EMPTY_CATALOG,
          asksOpen: true,
          onUnknown,
          onRefused: onUnknown,
        })
      : await hear(new PaymentWebhooks({ ...parts, mayWrite: () => true, logger: pino({ level: 'silent' }) }), message);
  await log.close();
  provider.close();
  return answered ?? null;
}

const hear = async (webhooks: PaymentWebhooks, { body, signature }: NonNullable<Site['message']>): Promise<number> =>
  (await webhooks.hear(Buffer.from(body), signature)).status;

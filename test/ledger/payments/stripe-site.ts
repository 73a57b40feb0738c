import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import type { EventLog } from '../../../contracts/event-log.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import { loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { pursuePayments } from '../../../ledger/payments/pursue-payments.ts';
import { StripeProvider } from '../../../ledger/payments/stripe-provider.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { PaymentWebhooks } from '../../../proxy/payment-webhooks.ts';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { LEDGER, STRIPE_OF_TESTS, stripeConfiguration } from '../../fixtures/stripe/stripe-example.ts';
import { SECRET_KEY } from '../../fixtures/stripe/stripe-server.ts';

interface Site {
  /** With the ledger. */
  readonly data: string;
  /** Stripe's. */
  readonly url: string;
  readonly task: SiteTask;
  /** The machine's; Date.now where it is left out. */
  readonly clock?: () => number;
  /** Told of each append, before and after, by its first event. */
  readonly at: (instant: string) => void;
}

/** `look`: what is open is looked after, once. `hear`: a message of Stripe's, with its signature. `run`: a command, whose payments a provider takes. */
export type SiteTask =
  | { readonly type: 'look' }
  | { readonly type: 'hear'; readonly body: string; readonly signature: string }
  | { readonly type: 'run'; readonly provider: 'stripe' | 'manual'; readonly words: readonly string[] };

/** Does one thing about the payments of the example's account, asking Stripe. @returns what a message is answered with, or a command prints */
export async function runSite({ data, url, task, clock = Date.now, at }: Site): Promise<number | string | null> {
  const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
  const told = Object.assign(Object.create(log), {
    append: async (...[stream, revision, events]: Parameters<typeof log.append>) => {
      at(`before ${events[0]?.type}`);
      const result = await log.append(stream, revision, events);
      at(`after ${events[0]?.type}`);
      return result;
    },
    readStream: log.readStream.bind(log),
    readAll: log.readAll.bind(log),
    subscribeAll: log.subscribeAll.bind(log),
    headPosition: log.headPosition.bind(log),
  });
  try {
    return task.type === 'run' ? await run(told, task, { url, clock }) : await look(told, task, { url, clock });
  } finally {
    await log.close();
  }
}

type At = Required<Pick<Site, 'url' | 'clock'>>;

async function run(
  log: EventLog,
  { provider, words }: Extract<SiteTask, { type: 'run' }>,
  { url, clock }: At,
): Promise<string> {
  // Who does something else in a process of its own need not load all of it.
  const { programInProcess } = await import('../../fixtures/processes/program-in-process.ts');
  const program = await programInProcess(log);
  const stripe = { secretKeyEnv: 'STRIPE_KEY', successUrl: 'https://app.example/paid', baseUrl: url };
  const configured = JSON.parse(readFileSync(program.file, 'utf8'));
  writeFileSync(program.file, JSON.stringify({ ...configured, payments: { provider, stripe } }));
  Object.assign(program.context.environment, { STRIPE_KEY: SECRET_KEY });
  program.clock = clock;
  return program.run(...words);
}

async function look(
  log: EventLog,
  task: Exclude<SiteTask, { type: 'run' }>,
  { url, clock }: At,
): Promise<number | null> {
  const { identity } = await readLedgerState(log);
  const provider = new StripeProvider({
    ...{ configuration: stripeConfiguration(url), secrets: STRIPE_OF_TESTS, clock },
    ledgerId: async () => identity?.ledgerId ?? LEDGER,
  });
  const accounts = new AccountViews();
  await catchUpAccount(log, accounts, ACCOUNT);
  const parts = { log, accounts, product: 'gateway', provider, clock };
  const onUnknown = (error: unknown): void => {
    throw error;
  };
  try {
    if (task.type === 'hear') {
      const webhooks = new PaymentWebhooks({ ...parts, mayWrite: () => true, logger: pino({ level: 'silent' }) });
      return (await webhooks.hear(Buffer.from(task.body), task.signature)).status;
    }
    const catalog = await loadCatalog(log);
    const asked = { catalog: () => catalog, asksOpen: true, onUnknown, onRefused: onUnknown, onMoved: () => undefined };
    await pursuePayments(ACCOUNT, { ...parts, ...asked });
    return null;
  } finally {
    provider.close();
  }
}

import { expect } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, granted, keyIssued, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { cardOf } from '../../fixtures/stripe/stripe-example.ts';
import { countsOf, type KilledSite, killedSite, openOf, toRun } from './killed-site.ts';
import type { SiteTask } from './stripe-site.ts';

const DAY_MS = 24 * 3_600_000;
const SAVE = ['payment', 'save-method', ACCOUNT] as const;
const EXAMPLE = new URL('../../../contracts/example-catalog.yaml', import.meta.url).pathname;
const SAID = { consentedAtMs: Date.now(), by: 'owner@example.com' };

/** What an account of 1 USD buys by itself, of a card that is saved. */
export const reloadOf = (card: string): readonly AccountCommand[] => [
  { type: 'SavePaymentMethod', ...cardOf(card), ...SAID },
  {
    ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000) },
    ...{ monthlyCap: usd(60_000_000), ...SAID },
  },
];

export const PURCHASE: readonly AccountCommand[] = [
  {
    ...{ type: 'StartPurchase', attemptId: attemptId('bought'), provider: 'stripe', amount: usd(19_000_000) },
    ...{ price: usd(19_000_000), by: 'owner', nowMs: Date.now() },
  },
];

interface BuyingSite extends KilledSite {
  /** What was paid, once, has left. */
  readonly balance: () => Promise<bigint>;
}

/** Stripe, and an account that is to buy credits, in a ledger of its own. */
export async function buyingSite(commands: readonly AccountCommand[]): Promise<BuyingSite> {
  const begun: AccountEvent[] = [opened, keyIssued(), granted('g', 1_000_000)];
  for (const command of commands) begun.push(...given(...begun).decided(command));
  const site = await killedSite(begun);
  return {
    ...site,
    balance: async () => {
      const { account, events } = await site.read();
      expect(openOf(account)).toEqual([]);
      expect(site.server.all('charge').length).toBe(1);
      expect(countsOf(events, ['PaymentSucceeded'])).toEqual([1]);
      return account.balance;
    },
  };
}

/** An account of an owner in a ledger that sells plans, since so long, and what was done there before. */
export async function sellingSite(before: readonly SiteTask[], sinceMs = 0): Promise<KilledSite> {
  const made = await killedSite([], sinceMs);
  const opening = ['account', 'open', '--email', 'ada@example.com', '--id', ACCOUNT, '--trial-usd', '0'];
  for (const task of [toRun(...opening), toRun('catalog', 'publish', EXAMPLE), ...before]) await made.done(task);
  return made;
}

/** The same with a card that its owner has agreed may be charged. */
export async function cardSite(sinceDays = 0): Promise<KilledSite> {
  const made = await sellingSite([], sinceDays * DAY_MS);
  await saveCard(made, 'pm_saved');
  return made;
}

/** In the place of one that was saved before. */
export async function saveCard({ server, done }: KilledSite, card: string): Promise<void> {
  await done(toRun(...SAVE));
  const page = server.all('checkout.session').at(-1)?.id ?? '';
  server.consent(page, card);
  await done(toRun(...SAVE, '--id', page));
}

import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { granted, keyIssued, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { cardOf } from '../../fixtures/stripe/stripe-example.ts';
import { ANSWERING, countsOf, killedSite, LOOK, openOf } from './killed-site.ts';

const SAID = { consentedAtMs: Date.now(), by: 'owner@example.com' };
const RELOAD: readonly AccountCommand[] = [
  { type: 'SavePaymentMethod', ...cardOf('pm_ok'), ...SAID },
  {
    ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000) },
    ...{ monthlyCap: usd(60_000_000), ...SAID },
  },
];
const PURCHASE: readonly AccountCommand[] = [
  {
    ...{ type: 'StartPurchase', attemptId: attemptId('bought'), provider: 'stripe', amount: usd(19_000_000) },
    ...{ price: usd(19_000_000), by: 'owner', nowMs: Date.now() },
  },
];

/** Stripe, and an account that is to buy credits, in a ledger of its own. */
async function scene(commands: readonly AccountCommand[]) {
  const begun: AccountEvent[] = [opened, keyIssued(), granted('g', 1_000_000)];
  for (const command of commands) begun.push(...given(...begun).decided(command));
  const site = await killedSite(begun);
  return {
    ...site,
    /** What was paid, once, has left. */
    balance: async (): Promise<bigint> => {
      const { account, events } = await site.read();
      expect(openOf(account)).toEqual([]);
      expect(site.server.all('charge').length).toBe(1);
      expect(countsOf(events, ['PaymentSucceeded'])).toEqual([1]);
      return account.balance;
    },
  };
}

it.each(['after AutoReloadStarted', ANSWERING, 'before PaymentSucceeded', 'after PaymentSucceeded'])(
  'kill -9 %s of a reload leaves it charged once by Stripe and granted once, when somebody has looked again',
  async (instant) => {
    const { killed, done, balance } = await scene(RELOAD);
    await killed(instant, LOOK);
    await done(LOOK);
    expect(await balance()).toBe(20_000_000n);
  },
);

it.each([ANSWERING, 'before PaymentSucceeded'])(
  'kill -9 %s of a purchase leaves one page, paid once and granted once',
  async (instant) => {
    const { server, killed, done, balance } = await scene(PURCHASE);
    if (instant === ANSWERING) await killed(instant, LOOK);
    await done(LOOK);
    server.pay(server.all('checkout.session')[0]?.id ?? '');
    if (instant !== ANSWERING) await killed(instant, LOOK);
    await done(LOOK);
    expect(server.all('checkout.session').length).toBe(1);
    expect(await balance()).toBe(20_000_000n);
  },
);

/** What was paid, in this process, by an account that had 1 USD. */
async function paid() {
  const site = await scene(PURCHASE);
  await site.done(LOOK);
  site.server.pay(site.server.all('checkout.session')[0]?.id ?? '');
  const intent = site.server.all('payment_intent')[0]?.id ?? '';
  return { ...site, intent };
}

it.each(['before PaymentSucceeded', 'after PaymentSucceeded', 'after PaymentRefunded'])(
  'kill -9 %s of what Stripe tells answers it not at all, and told again it counts once',
  async (instant) => {
    const { server, told, intent, killed, done, balance } = await paid();
    server.refund(intent, 900);
    const message = told('charge.refunded');
    await killed(instant, message);
    for (let times = 0; times < 2; times++) expect(await done(message)).toBe(200);
    expect(await balance()).toBe(11_000_000n);
  },
);

/** What stands in the log of a dispute. */
const DISPUTE = ['PaymentDisputed', 'GrantRevoked', 'DisputeClosed', 'GrantRestored'] as const;

it.each(['before PaymentDisputed', 'after PaymentDisputed'])(
  'kill -9 %s of a dispute that Stripe tells of takes its credits once, told again',
  async (instant) => {
    const { server, told, intent, killed, done, balance, read } = await paid();
    await done(LOOK);
    server.dispute(intent, 1_900);
    const message = told('charge.dispute.created');
    await killed(instant, message);
    for (let times = 0; times < 2; times++) expect(await done(message)).toBe(200);
    expect(await balance()).toBe(1_000_000n);
    expect(countsOf((await read()).events, DISPUTE)).toEqual([1, 1, 0, 0]);
  },
);

it.each([
  ['before DisputeClosed', 'lost', 1_000_000n],
  ['after DisputeClosed', 'lost', 1_000_000n],
  ['before DisputeClosed', 'won', 20_000_000n],
  ['after DisputeClosed', 'won', 20_000_000n],
] as const)('kill -9 %s of a dispute that is %s closes it once, told again', async (instant, outcome, after) => {
  const { server, told, intent, killed, done, balance, read } = await paid();
  const { id } = server.dispute(intent, 1_900);
  await done(told('charge.dispute.created'));
  server.closeDispute(id, outcome);
  const message = told('charge.dispute.closed');
  await killed(instant, message);
  for (let times = 0; times < 2; times++) expect(await done(message)).toBe(200);
  expect(await balance()).toBe(after);
  expect(countsOf((await read()).events, DISPUTE)).toEqual([1, 1, 1, outcome === 'won' ? 1 : 0]);
});

it('kill -9 between the two halves of a dispute that nobody has heard of before it was won leaves no credits taken', async () => {
  const { server, told, intent, killed, done, balance, read } = await paid();
  server.closeDispute(server.dispute(intent, 1_900).id, 'won');
  await killed('after PaymentDisputed', told('charge.dispute.closed'));
  expect((await read()).account.balance).toBe(1_000_000n);
  // Stripe tells again, of whichever it was answered nothing for.
  for (const type of ['charge.dispute.closed', 'charge.dispute.created']) expect(await done(told(type))).toBe(200);
  expect(await balance()).toBe(20_000_000n);
  expect(countsOf((await read()).events, DISPUTE)).toEqual([1, 1, 1, 1]);
});

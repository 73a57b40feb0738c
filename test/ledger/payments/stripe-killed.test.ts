import { expect, it } from 'vitest';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { buyingSite, cardSite, PURCHASE, RELOAD } from './begun-sites.ts';
import { ANSWERING, countsOf, LOOK, openOf, toRun } from './killed-site.ts';

it.each(['after AutoReloadStarted', ANSWERING, 'before PaymentSucceeded', 'after PaymentSucceeded'])(
  'kill -9 %s of a reload leaves it charged once by Stripe and granted once, when somebody has looked again',
  async (instant) => {
    const { killed, done, balance } = await buyingSite(RELOAD);
    await killed(instant, LOOK);
    await done(LOOK);
    expect(await balance()).toBe(20_000_000n);
  },
);

it.each([ANSWERING, 'before PaymentSucceeded'])(
  'kill -9 %s of a purchase leaves one page, paid once and granted once',
  async (instant) => {
    const { server, killed, done, balance } = await buyingSite(PURCHASE);
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
  const site = await buyingSite(PURCHASE);
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

/** What stands in the log of a refund. */
const REFUND = ['PaymentRefunded', 'GrantRevoked', 'RefundWithdrawn', 'GrantRestored'] as const;

it.each([
  ['before RefundWithdrawn', 'failed', 'told'],
  ['after RefundWithdrawn', 'failed', 'told'],
  ['after RefundWithdrawn', 'canceled', 'told'],
  ['before RefundWithdrawn', 'failed', 'asked'],
  ['after RefundWithdrawn', 'failed', 'asked'],
])('kill -9 %s of a refund that has %s after it went back gives its credits back once, %s again', async (...of) => {
  const [instant, became, how] = of;
  const { server, told, intent, killed, done, balance, read } = await paid();
  const { id } = server.refund(intent, 900);
  await done(told('charge.refunded'));
  expect(await balance()).toBe(11_000_000n);
  server.change(id, { status: became }, 'refund.updated');
  const message = told('refund.updated');
  await killed(instant, how === 'told' ? message : toRun('payment', 'ask', ACCOUNT, 'bought'));
  for (let times = 0; times < 2; times++) expect(await done(message)).toBe(200);
  expect(await balance()).toBe(20_000_000n);
  expect(countsOf((await read()).events, REFUND)).toEqual([1, 1, 1, 1]);
});

it.each(['before RefundWithdrawn', 'after RefundWithdrawn', 'before PaymentRefunded', 'after PaymentRefunded'])(
  'kill -9 %s of a refund that was made in the place of one that has failed leaves its credits taken once',
  async (instant) => {
    const { server, told, intent, killed, done, balance, read } = await paid();
    const { id } = server.refund(intent, 900);
    await done(told('charge.refunded'));
    server.change(id, { status: 'failed' });
    server.refund(intent, 900);
    const message = told('refund.created');
    await killed(instant, message);
    for (let times = 0; times < 2; times++) expect(await done(message)).toBe(200);
    expect(await balance()).toBe(11_000_000n);
    expect(countsOf((await read()).events, REFUND)).toEqual([2, 2, 1, 1]);
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

it.each([
  'before RenewalStarted',
  'after RenewalStarted',
  ANSWERING,
  'before PaymentSucceeded',
  'after PaymentSucceeded',
])(
  'kill -9 %s of a plan’s renewal leaves it charged once by Stripe and granted once, when somebody has looked again',
  async (instant) => {
    const { server, killed, done, move, read } = await cardSite(40);
    await done(toRun('account', 'plan', ACCOUNT, 'starter'));
    move(0);
    await killed(instant, LOOK);
    for (let times = 0; times < 2; times++) await done(LOOK);
    const { account, events } = await read();
    expect([account.plan, openOf(account), account.balance]).toEqual(['starter', [], 50_000_000n]);
    expect(server.all('charge').length).toBe(2);
    expect(countsOf(events, ['RenewalStarted', 'PaymentSucceeded', 'CreditsGranted'])).toEqual([2, 2, 2]);
    expect(account.billing.plan?.period?.endMs).toBeGreaterThan(Date.now());
  },
);

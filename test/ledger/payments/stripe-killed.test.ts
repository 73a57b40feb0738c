import { expect, it } from 'vitest';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { buyingSite, cardSite, PURCHASE, reloadOf, saveCard } from './begun-sites.ts';
import { ANSWERING, countsOf, LOOK, openOf, toRun } from './killed-site.ts';

const DAY_MS = 24 * 3_600_000;

it.each([
  'before AutoReloadStarted',
  'after AutoReloadStarted',
  ANSWERING,
  'before PaymentSucceeded',
  'after PaymentSucceeded',
])(
  'kill -9 %s of a reload leaves it charged once by Stripe and granted once, when somebody has looked again',
  async (instant) => {
    const { killed, done, balance } = await buyingSite(reloadOf('pm_ok'));
    await killed(instant, LOOK);
    await done(LOOK);
    expect(await balance()).toBe(20_000_000n);
  },
);

it.each([
  ['before AutoReloadStarted', 'pm_lost'],
  ['after AutoReloadStarted', 'pm_lost'],
  [ANSWERING, 'pm_lost'],
  ['before PaymentFailed', 'pm_lost'],
  ['after PaymentFailed', 'pm_lost'],
  ['before PaymentFailed', 'pm_declined'],
  ['after PaymentFailed', 'pm_declined'],
])('kill -9 %s of a reload by %s leaves it declined once, and paused where it is for good', async (instant, card) => {
  const { server, killed, done, read } = await buyingSite(reloadOf(card));
  await killed(instant, LOOK);
  for (let times = 0; times < 2; times++) await done(LOOK);
  const { account, events } = await read();
  expect([openOf(account), account.balance]).toEqual([[], 1_000_000n]);
  expect([server.all('payment_intent').length, server.all('charge').length]).toEqual([1, 0]);
  const isForGood = card === 'pm_lost';
  expect(countsOf(events, ['AutoReloadStarted', 'PaymentFailed', 'AutoReloadPaused', 'AutoReloadSkipped'])).toEqual([
    ...[1, 1, isForGood ? 1 : 0, 1],
  ]);
  expect(account.billing.payments.reload?.paused).toBe(isForGood ? 'lost_card' : null);
});

it.each(['before AutoReloadSkipped', 'after AutoReloadSkipped'])(
  'kill -9 %s of a reload that is not begun leaves it told once why',
  async (instant) => {
    const { killed, done, read } = await buyingSite(reloadOf('pm_lost'));
    await done(LOOK);
    await killed(instant, LOOK);
    for (let times = 0; times < 2; times++) await done(LOOK);
    const { events } = await read();
    expect(countsOf(events, ['AutoReloadStarted', 'AutoReloadPaused', 'AutoReloadSkipped'])).toEqual([1, 1, 1]);
  },
);

it.each([
  ['before PaymentActionRequired', 'told'],
  ['after PaymentActionRequired', 'told'],
  ['before PaymentActionRequired', 'asked'],
  ['after PaymentActionRequired', 'asked'],
])('kill -9 %s of a reload that its owner has to confirm leaves it %s of once, and paid once', async (instant, how) => {
  const { server, told, killed, done, balance, read } = await buyingSite(reloadOf('pm_slow'));
  await done(LOOK);
  const intent = server.all('payment_intent')[0]?.id ?? '';
  server.change(intent, { status: 'requires_action' }, 'payment_intent.requires_action');
  const message = told('payment_intent.requires_action');
  await killed(instant, how === 'told' ? message : LOOK);
  for (let times = 0; times < 2; times++) {
    expect(await done(message)).toBe(200);
    await done(LOOK);
  }
  const { account, events } = await read();
  expect(openOf(account).length).toBe(1);
  expect(countsOf(events, ['AutoReloadStarted', 'PaymentActionRequired', 'PaymentFailed'])).toEqual([1, 1, 0]);
  server.settle(intent);
  await done(LOOK);
  expect(await balance()).toBe(20_000_000n);
});

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

it.each(['before PaymentFailed', 'after PaymentFailed', 'before PlanEnded', 'after PlanEnded'])(
  'kill -9 %s of a plan that is not paid in time leaves it declined once and ended once, and what was paid before',
  async (instant) => {
    const site = await cardSite(60);
    const { server, killed, done, move, read } = site;
    await done(toRun('account', 'plan', ACCOUNT, 'starter'));
    await saveCard(site, 'pm_lost');
    move(-28 * DAY_MS);
    if (instant.endsWith('PlanEnded')) await done(LOOK);
    move(0);
    await killed(instant, LOOK);
    await done(LOOK);
    // Of a period that was begun in the killed process the grace is over now, too.
    move(8 * DAY_MS);
    for (let times = 0; times < 2; times++) await done(LOOK);
    const { account, events } = await read();
    expect([account.billing.plan, openOf(account), account.balance]).toEqual([null, [], 25_000_000n]);
    expect([server.all('payment_intent').length, server.all('charge').length]).toEqual([2, 1]);
    expect(countsOf(events, ['RenewalStarted', 'PaymentFailed', 'PlanEnded'])).toEqual([2, 1, 1]);
    expect(events.find(({ type }) => type === 'PlanEnded')).toMatchObject({ data: { reason: 'unpaid' } });
  },
);

it.each(['before PlanEnded', 'after PlanEnded'])(
  'kill -9 %s of a plan whose end was asked for leaves it ended once, and renewed no more',
  async (instant) => {
    const { server, killed, done, move, read } = await cardSite(40);
    for (const plan of ['starter', 'none']) await done(toRun('account', 'plan', ACCOUNT, plan));
    move(0);
    await killed(instant, LOOK);
    for (let times = 0; times < 2; times++) await done(LOOK);
    const { account, events } = await read();
    expect([account.billing.plan, openOf(account), server.all('charge').length]).toEqual([null, [], 1]);
    expect(countsOf(events, ['RenewalStarted', 'PlanChanged', 'PlanEnded'])).toEqual([1, 2, 1]);
    expect(events.find(({ type }) => type === 'PlanEnded')).toMatchObject({ data: { reason: 'cancelled' } });
  },
);

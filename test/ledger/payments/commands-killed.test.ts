import { expect, it } from 'vitest';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { cardSite, saveCard, sellingSite } from './begun-sites.ts';
import { ANSWERING, countsOf, LOOK, openOf, toRun } from './killed-site.ts';
import type { SiteTask } from './stripe-site.ts';

const DAY_MS = 24 * 3_600_000;
const STARTER = toRun('account', 'plan', ACCOUNT, 'starter');
const TEAM = toRun('account', 'plan', ACCOUNT, 'team');
const SAVE = ['payment', 'save-method', ACCOUNT] as const;
const DECLINE = ['payment', 'decline', ACCOUNT, '--reason', 'typed wrong'] as const;
const AS_OWNER = ['--as', 'ada@example.com'] as const;
const PURCHASE = toRun('credits', 'purchase', ACCOUNT, '--usd', '20', '--id', 'p1', ...AS_OWNER);

/** What stands in the log of an attempt that is ended. */
const ENDED = ['PaymentSucceeded', 'PaymentAbandoned'] as const;

const site = (...before: readonly SiteTask[]) => sellingSite(before);

it.each(['before PlanChanged', 'after PlanChanged', ANSWERING, 'before PaymentSucceeded', 'after PaymentSucceeded'])(
  'kill -9 %s of a dearer plan in the middle of a month leaves it charged once and granted once',
  async (instant) => {
    const { server, killed, done, move, read } = await cardSite(12);
    await done(STARTER);
    move(0);
    await killed(instant, TEAM);
    if (instant === 'before PlanChanged') await done(TEAM);
    await done(LOOK);
    const { account, events } = await read();
    expect(account.plan).toBe('team');
    expect(openOf(account)).toEqual([]);
    expect(server.all('charge').length).toBe(2);
    expect(countsOf(events, ['RenewalStarted', 'PaymentSucceeded', 'CreditsGranted'])).toEqual([2, 2, 2]);
    // Asked for again it is what the account has.
    expect(await done(TEAM)).toContain('nothing was written');
    expect(account.balance).toBeGreaterThan(25_000_000n);
    expect((await read()).account.balance).toBe(account.balance);
  },
);

it.each([
  'before PlanChanged',
  'after PlanChanged',
  `${ANSWERING} payment_intents`,
  'before PaymentSucceeded',
  'after PaymentSucceeded',
])('kill -9 %s as a first plan is asked for leaves its first period charged once and granted once', async (instant) => {
  const { server, killed, done, read } = await cardSite();
  await killed(instant, STARTER);
  if (instant === 'before PlanChanged') await done(STARTER);
  for (let times = 0; times < 2; times++) await done(LOOK);
  expect(await done(STARTER)).toContain('nothing was written');
  const { account, events } = await read();
  expect([account.plan, openOf(account), account.balance]).toEqual(['starter', [], 25_000_000n]);
  expect(server.all('charge').length).toBe(1);
  expect(countsOf(events, ['PlanChanged', 'RenewalStarted', 'PaymentSucceeded', 'CreditsGranted'])).toEqual([
    ...[1, 1, 1, 1],
  ]);
});

it.each([
  ['before PlanChanged', 'paid'],
  ['after PlanChanged', 'paid'],
  ['before PlanChanged', 'waiting for a card'],
  ['after PlanChanged', 'waiting for a card'],
  [`${ANSWERING} payment_intents`, 'waiting for a card'],
  [`${ANSWERING} cancel`, 'waiting for a card'],
  ['before PaymentAbandoned', 'waiting for a card'],
  ['after PaymentAbandoned', 'waiting for a card'],
])(
  'kill -9 %s as a plan that is %s is ended at once leaves it ended once, and charged no more',
  async (instant, what) => {
    const isPaid = what === 'paid';
    const made = await (isPaid ? cardSite() : site());
    const { server, killed, done, move, read } = made;
    await done(STARTER);
    const end = toRun('account', 'plan', ACCOUNT, 'none', '--now');
    await killed(instant, end);
    if (instant === 'before PlanChanged') await done(end);
    else await expect(done(end)).rejects.toThrow(/the account has none/);
    if (!isPaid) await saveCard(made, 'pm_saved');
    // What Stripe was not told to end yet is ended once its key is forgotten.
    move(DAY_MS + 3_600_000);
    for (let times = 0; times < 2; times++) await done(LOOK);
    const { account, events } = await read();
    expect([account.billing.plan, openOf(account), server.all('charge').length]).toEqual([null, [], isPaid ? 1 : 0]);
    expect(account.balance).toBe(isPaid ? 25_000_000n : 0n);
    expect(countsOf(events, ['RenewalStarted', 'PlanChanged', 'PlanEnded', ...ENDED])).toEqual([
      ...[1, 2, 1],
      ...(isPaid ? [1, 0] : [0, 1]),
    ]);
  },
);

it.each(['before PaymentMethodRemoved', 'after PaymentMethodRemoved', `${ANSWERING} detach`])(
  'kill -9 %s as an owner removes a card leaves it removed once, there and at Stripe, when it is said again',
  async (instant) => {
    const { server, told, killed, done, read } = await cardSite();
    const remove = toRun('payment', 'remove-method', ACCOUNT, ...AS_OWNER);
    await killed(instant, remove);
    for (let times = 0; times < 2; times++) await done(remove);
    expect(await done(remove)).toContain('nothing was written');
    expect(server.get('pm_saved').customer).toBeNull();
    expect(server.made('/v1/payment_methods/pm_saved/detach').length).toBe(1);
    expect(await done(told('setup_intent.succeeded'))).toBe(200);
    expect(await done(STARTER)).toContain('waits for a card');
    const { account, events } = await read();
    expect([account.billing.payments.method, server.all('charge')]).toEqual([null, []]);
    expect(countsOf(events, ['PaymentMethodSaved', 'PaymentMethodRemoved'])).toEqual([1, 1]);
  },
);

it.each(['before PaymentMethodSaved', 'after PaymentMethodSaved'])(
  'kill -9 %s of a card that is saved leaves it saved once, and what waits for it charged once',
  async (instant) => {
    const { server, told, killed, done, read } = await site(STARTER, toRun(...SAVE));
    const page = server.all('checkout.session').at(-1)?.id ?? '';
    server.consent(page);
    const save = toRun(...SAVE, '--id', page);
    await killed(instant, save);
    await done(save);
    for (let times = 0; times < 2; times++) {
      await done(LOOK);
      expect(await done(told('setup_intent.succeeded'))).toBe(200);
    }
    const { account, events } = await read();
    expect(account).toMatchObject({ plan: 'starter', balance: 25_000_000n });
    expect([openOf(account), server.all('charge').length]).toEqual([[], 1]);
    expect(countsOf(events, ['PaymentMethodSaved', 'PaymentSucceeded'])).toEqual([1, 1]);
  },
);

it.each(['before PaymentMethodSaved', 'after PaymentMethodSaved'])(
  'kill -9 %s as Stripe tells of a consent leaves the card saved once, told again',
  async (instant) => {
    const { server, told, killed, done, read } = await site(STARTER, toRun(...SAVE));
    server.consent(server.all('checkout.session').at(-1)?.id ?? '');
    await killed(instant, told('setup_intent.succeeded'));
    for (const type of ['setup_intent.succeeded', 'checkout.session.completed'])
      expect(await done(told(type))).toBe(200);
    await done(LOOK);
    const { account, events } = await read();
    expect(account).toMatchObject({ plan: 'starter', balance: 25_000_000n });
    expect(countsOf(events, ['PaymentMethodSaved', 'PaymentSucceeded'])).toEqual([1, 1]);
  },
);

it.each([
  [`${ANSWERING} payment_intents`, 'the operator'],
  [`${ANSWERING} payment_intents`, 'the gateway'],
  [`${ANSWERING} cancel`, 'the operator'],
  [`${ANSWERING} cancel`, 'the gateway'],
  ['before PaymentAbandoned', 'the gateway'],
  ['after PaymentAbandoned', 'the gateway'],
])(
  'kill -9 %s as an operator ends what waits for a card leaves it ended once, when %s has looked again',
  async (instant, who) => {
    const { server, killed, done, move, read } = await site(STARTER);
    const decline = toRun(...DECLINE);
    await killed(instant, decline);
    if (who === 'the operator') await done(decline);
    // What Stripe was not told to end yet is ended once its key is forgotten.
    if (who === 'the gateway' && instant.endsWith('payment_intents')) move(DAY_MS + 3_600_000);
    for (let times = 0; times < 2; times++) await done(LOOK);
    const { events } = await read();
    expect(countsOf(events, ENDED)).toEqual([0, 1]);
    expect([server.all('payment_intent').map(({ status }) => status), server.all('charge')]).toEqual([
      ['canceled'],
      [],
    ]);
    const isSaid = who === 'the operator' || !instant.endsWith('payment_intents');
    const ended = events.find(({ type }) => type === 'PaymentAbandoned');
    expect(ended).toMatchObject({ data: { endedBy: isSaid ? 'operator' : null } });
  },
);

it.each([`${ANSWERING} checkout/sessions`, `${ANSWERING} expire`, 'before PaymentAbandoned', 'after PaymentAbandoned'])(
  'kill -9 %s as an owner ends a purchase leaves it ended once, or to be paid once',
  async (instant) => {
    const { server, told, killed, done, read } = await site(PURCHASE);
    await killed(instant, toRun(...DECLINE, 'p1', ...AS_OWNER));
    const [page] = server.all('checkout.session');
    const isOpen = instant.endsWith('checkout/sessions');
    expect(page?.status).toBe(isOpen ? 'open' : 'expired');
    if (isOpen) server.pay(page?.id ?? '');
    for (let times = 0; times < 2; times++) {
      await done(LOOK);
      expect(await done(told(isOpen ? 'checkout.session.completed' : 'checkout.session.expired'))).toBe(200);
    }
    const { account, events } = await read();
    expect([openOf(account), account.balance]).toEqual([[], isOpen ? 20_000_000n : 0n]);
    expect(countsOf(events, ENDED)).toEqual(isOpen ? [1, 0] : [0, 1]);
  },
);

it.each([
  ['before PurchaseStarted', 'the owner'],
  ['after PurchaseStarted', 'the owner'],
  ['after PurchaseStarted', 'the gateway'],
  [ANSWERING, 'the owner'],
  [ANSWERING, 'the gateway'],
])(
  'kill -9 %s as an owner begins a purchase leaves one page, paid once and granted once, when %s has asked again',
  async (instant, who) => {
    const { server, told, killed, done, read } = await site();
    await killed(instant, PURCHASE);
    await done(who === 'the owner' ? PURCHASE : LOOK);
    server.pay(server.all('checkout.session')[0]?.id ?? '');
    for (let times = 0; times < 2; times++) {
      await done(LOOK);
      expect(await done(told('checkout.session.completed'))).toBe(200);
    }
    expect(await done(PURCHASE)).toContain('nothing was written');
    const { account, events } = await read();
    expect([openOf(account), account.balance]).toEqual([[], 20_000_000n]);
    expect([server.all('checkout.session').length, server.all('charge').length]).toEqual([1, 1]);
    expect(countsOf(events, ['PurchaseStarted', ...ENDED])).toEqual([1, 1, 0]);
  },
);

it.each([
  ['after PurchaseStarted', 'its page has expired', 1],
  [ANSWERING, 'its page has expired', 1],
  ['after PurchaseStarted', 'its key is forgotten', 0],
])('kill -9 %s of a purchase that nobody asks for again leaves it open until %s', async (instant, end, pages) => {
  const { server, killed, done, move, read } = await site();
  await killed(instant, toRun('credits', 'purchase', ACCOUNT, '--usd', '20'));
  if (pages === 0) move(DAY_MS + 3_600_000);
  for (let times = 0; times < 2; times++) {
    await done(LOOK);
    for (const { id, status } of server.all('checkout.session')) if (status === 'open') server.expire(id);
  }
  const { account, events } = await read();
  expect([openOf(account), server.all('checkout.session').length], end).toEqual([[], pages]);
  expect(countsOf(events, ['PurchaseStarted', ...ENDED])).toEqual([1, 0, 1]);
});

it.each(['before AutoReloadConfigured', 'after AutoReloadConfigured'])(
  'kill -9 %s as an owner turns auto-reload on, or off, leaves it so once, and its credits bought once',
  async (instant) => {
    const { server, killed, done, read } = await cardSite();
    const reload = (...words: readonly string[]) => toRun('credits', 'auto-reload', ACCOUNT, ...words, ...AS_OWNER);
    const terms = ['--threshold-usd', '5', '--target-usd', '20', '--monthly-cap-usd', '60'];
    for (const task of [reload(...terms, '--consent'), reload('--off')]) {
      await killed(instant, task);
      await done(LOOK);
      for (let times = 0; times < 2; times++) {
        await done(task);
        await done(LOOK);
      }
    }
    const { account, events } = await read();
    expect([openOf(account), account.balance, server.all('charge').length]).toEqual([[], 20_000_000n, 1]);
    expect(account.billing.payments.reload).toMatchObject({ consentedAtMs: null, paused: null });
    expect(countsOf(events, ['AutoReloadConfigured', 'AutoReloadStarted', ...ENDED])).toEqual([2, 1, 1, 0]);
  },
);

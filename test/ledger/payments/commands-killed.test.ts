import { expect, it } from 'vitest';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { ANSWERING, countsOf, killedSite, LOOK, openOf, toRun } from './killed-site.ts';
import type { SiteTask } from './stripe-site.ts';

const DAY_MS = 24 * 3_600_000;
const EXAMPLE = new URL('../../../contracts/example-catalog.yaml', import.meta.url).pathname;
const STARTER = toRun('account', 'plan', ACCOUNT, 'starter');
const TEAM = toRun('account', 'plan', ACCOUNT, 'team');
const SAVE = ['payment', 'save-method', ACCOUNT] as const;
const DECLINE = ['payment', 'decline', ACCOUNT, '--reason', 'typed wrong'] as const;

/** An account of an owner in a ledger that sells plans, and what was done there before. */
const site = (...before: readonly SiteTask[]) => siteSince(0, before);

async function siteSince(sinceMs: number, before: readonly SiteTask[]) {
  const made = await killedSite([], sinceMs);
  const opening = ['account', 'open', '--email', 'ada@example.com', '--id', ACCOUNT, '--trial-usd', '0'];
  for (const task of [toRun(...opening), toRun('catalog', 'publish', EXAMPLE), ...before]) await made.done(task);
  return made;
}

it.each(['before PlanChanged', 'after PlanChanged', ANSWERING, 'before PaymentSucceeded', 'after PaymentSucceeded'])(
  'kill -9 %s of a dearer plan in the middle of a month leaves it charged once and granted once',
  async (instant) => {
    const { server, killed, done, move, read } = await siteSince(12 * DAY_MS, [toRun(...SAVE)]);
    server.consent('cs_1');
    await done(toRun(...SAVE, '--id', 'cs_1'));
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

/** What stands in the log of an attempt that is ended. */
const ENDED = ['PaymentSucceeded', 'PaymentAbandoned'] as const;

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
    const purchase = ['credits', 'purchase', ACCOUNT, '--usd', '20', '--id', 'p1', '--as', 'ada@example.com'];
    const { server, told, killed, done, read } = await site(toRun(...purchase));
    await killed(instant, toRun(...DECLINE, 'p1', '--as', 'ada@example.com'));
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

it.each(['after PaymentDisputed', 'after DisputeClosed'])(
  'kill -9 %s of a dispute that an operator writes down leaves it written once, when it is said again',
  async (instant) => {
    const byHand = (...words: readonly string[]): SiteTask => ({ type: 'run', provider: 'manual', words });
    const { killed, done, read } = await site(
      byHand('credits', 'purchase', ACCOUNT, '--usd', '20', '--id', 'p1'),
      byHand('payment', 'confirm', ACCOUNT, 'p1', '--payment', 'wire-7'),
    );
    const of = [ACCOUNT, 'wire-7', '--id', 'case-7', '--reason', 'the bank'];
    const dispute = byHand('payment', 'dispute', ...of, '--usd', '20');
    const close = byHand('payment', 'close-dispute', ...of, '--outcome', 'won');
    const isOpening = instant.endsWith('PaymentDisputed');
    if (!isOpening) await done(dispute);
    await killed(instant, isOpening ? dispute : close);
    await done(dispute);
    for (let times = 0; times < 2; times++) await done(close);
    const { account, events } = await read();
    expect(account.balance).toBe(20_000_000n);
    expect(countsOf(events, ['PaymentDisputed', 'GrantRevoked', 'DisputeClosed', 'GrantRestored'])).toEqual([
      1, 1, 1, 1,
    ]);
  },
);

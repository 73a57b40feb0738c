import pino from 'pino';
import { describe, expect, it } from 'vitest';
import type { TellingProvider } from '../../ledger/payments/payment-provider.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { PaymentWebhooks } from '../../proxy/payment-webhooks.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { SECRET_KEY, WEBHOOK_SECRET } from '../fixtures/stripe/stripe-server.ts';

import { CONFIGURE, GRANTED, PRICE, savedCard, scene } from './webhook-scene.ts';

describe('a payment', () => {
  it('that Stripe tells of is granted once, told by its page and by itself, twice, behind and before the look', async () => {
    const { server, begin, tell, types, account, payments, faults } = await scene();
    server.pay(await begin());
    for (const type of ['payment_intent.succeeded', 'checkout.session.completed', 'payment_intent.succeeded'])
      expect(await tell(type)).toBe(200);
    await payments.look();
    expect(await types()).toEqual(GRANTED);
    expect(account().balance).toBe(PRICE);
    expect(await faults()).toEqual([]);
  });

  it('that is told of before the answer that is lost is granted once', async () => {
    const { server, gateway, tell, types, payments, account } = await scene();
    server.faults.push('unheard', 'unheard');
    await gateway.command(savedCard('pm_ok'));
    await gateway.command(CONFIGURE);
    await payments.whenIdle();
    expect(await tell('payment_intent.succeeded')).toBe(200);
    await payments.look();
    expect((await types()).filter((type) => type.startsWith('PaymentS') || type === 'CreditsGranted')).toEqual([
      'PaymentSucceeded',
      'CreditsGranted',
    ]);
    expect(account().balance).toBe(25_000_000n);
    expect(server.all('charge').length).toBe(1);
  });

  it('is what Stripe says when it is asked, whatever its message says', async () => {
    const { server, gateway, event, place, types, payments } = await scene();
    await gateway.command(savedCard('pm_slow'));
    await gateway.command(CONFIGURE);
    await payments.whenIdle();
    const said = event('payment_intent.processing');
    const claimed = { ...said, type: 'payment_intent.succeeded' };
    Object.assign((said.data as { object: object }).object, { status: 'succeeded', amount_received: 2_500 });
    expect(await server.deliver(place, claimed)).toBe(200);
    expect(await types()).not.toContain('PaymentSucceeded');
    server.settle('pi_1');
    expect(await server.deliver(place, said)).toBe(200);
    expect(await server.deliver(place, claimed)).toBe(200);
    expect(await types()).toContain('PaymentSucceeded');
  });

  it('that has failed is found out by who asks of it, once, whatever tells of it, and pauses where the bank wants its customer there', async () => {
    const { server, gateway, event, place, types, payments } = await scene();
    server.faults.push('unheard', 'unheard');
    await gateway.command(savedCard('pm_absent'));
    await gateway.command(CONFIGURE);
    await payments.whenIdle();
    const failed = event('payment_intent.payment_failed');
    for (const type of [failed.type, 'payment_intent.requires_action'])
      expect(await server.deliver(place, { ...failed, type })).toBe(200);
    expect(await types()).not.toContain('PaymentFailed');
    for (let times = 0; times < 2; times++) await payments.look();
    expect((await types()).filter((type) => /Failed|Paused/.test(type))).toEqual(['PaymentFailed', 'AutoReloadPaused']);
  });

  it('whose card is declined on a page goes on, is over with the page, and is granted where it was paid all the same', async () => {
    const { server, begin, tell, types } = await scene();
    const page = await begin();
    server.pay(page, 'pm_declined');
    expect(await tell('payment_intent.payment_failed')).toBe(200);
    expect(await types()).toEqual(['PurchaseStarted']);
    server.expire(page);
    expect(await tell('checkout.session.expired')).toBe(200);
    expect(await types()).toEqual(['PurchaseStarted', 'PaymentAbandoned']);
    server.settle(String(server.get(page).payment_intent));
    expect(await tell('payment_intent.succeeded')).toBe(200);
    expect((await types()).at(-1)).toBe('CreditsGranted');
  });
});

it('a purchase whose payer has to confirm it with their bank says so once, and is granted then', async () => {
  const { server, begin, tell, types } = await scene();
  const page = await begin();
  server.pay(page, 'pm_declined');
  const intent = String(server.get(page).payment_intent);
  server.change(intent, { status: 'requires_action' }, 'payment_intent.requires_action');
  for (let times = 0; times < 2; times++) expect(await tell('payment_intent.requires_action')).toBe(200);
  expect(await types()).toEqual(['PurchaseStarted', 'PaymentActionRequired']);
  server.pay(page);
  expect(await tell('payment_intent.succeeded')).toBe(200);
  expect((await types()).slice(2)).toEqual(['PaymentSucceeded', 'CreditsGranted']);
});

describe('money that went back', () => {
  it('takes its part once, also where it is told of before the payment, and the rest of it later', async () => {
    const { server, begin, tell, types, account, faults, logLines } = await scene();
    server.pay(await begin());
    const intent = String(server.all('payment_intent')[0]?.id);
    server.refund(intent, 500);
    expect(await tell('charge.refunded')).toBe(200);
    expect(account().balance).toBe(15_000_000n);
    for (const type of ['refund.created', 'payment_intent.succeeded', 'charge.refunded'])
      expect(await tell(type)).toBe(200);
    expect(await types()).toEqual([...GRANTED, 'PaymentRefunded', 'GrantRevoked']);
    server.refund(intent, 1_500, 'pending');
    expect(await tell('refund.created')).toBe(200);
    expect(account().balance).toBe(15_000_000n);
    server.change(String(server.all('refund')[1]?.id), { status: 'succeeded' }, 'refund.updated');
    expect(await tell('refund.updated')).toBe(200);
    expect(account().balance).toBe(0n);
    server.dispute(intent, 2_000, 'lost');
    expect(await tell('charge.dispute.created')).toBe(200);
    const told = 'were revoked before: 0.000000 USD of credits revoked; 20.000000 USD of its credits could not be';
    expect(logLines.filter((line) => line.includes(told)).length).toBe(1);
    expect(await faults()).toEqual([]);
  });

  it('before its page alone tells that it was paid takes its credits, and leaves that open while it cannot be told', async () => {
    const { server, begin, tell, types, account, faults } = await scene();
    server.pay(await begin());
    server.refund(String(server.all('payment_intent')[0]?.id), 2_000);
    server.altered = (answer, { path }) => (path === '/v1/refunds' ? {} : answer);
    expect(await tell('checkout.session.completed')).toBe(503);
    expect(await types()).toEqual(['PurchaseStarted']);
    server.altered = (answer) => answer;
    expect(await tell('checkout.session.completed')).toBe(200);
    expect(await types()).toEqual([...GRANTED, 'PaymentRefunded', 'GrantRevoked']);
    expect(account().balance).toBe(0n);
    expect(await faults()).toEqual([]);
  });

  it('and cannot be written behind its payment, as the log is away by then, is asked of again by the next looks, until it is', async () => {
    const { server, begin, types, account, payments, log } = await scene();
    server.pay(await begin());
    server.refund(String(server.all('payment_intent')[0]?.id), 2_000);
    log.faults = (_, events) => ({ type: events.some(({ type }) => type === 'PaymentRefunded') ? 'refuse' : 'none' });
    for (let times = 0; times < 2; times++) await payments.look();
    expect(await types()).toEqual(GRANTED);
    log.faults = () => ({ type: 'none' });
    await payments.look();
    expect(await types()).toEqual([...GRANTED, 'PaymentRefunded', 'GrantRevoked']);
    expect(account().balance).toBe(0n);
    const asked = server.asked.length;
    await payments.look();
    expect(server.asked.length).toBe(asked);
  });

  it('twice before its payment is looked for takes its credits once, which the log says', async () => {
    const { server, begin, payments, account, logLines } = await scene();
    server.pay(await begin());
    const intent = String(server.all('payment_intent')[0]?.id);
    server.refund(intent, 2_000);
    server.dispute(intent, 2_000, 'lost');
    await payments.look();
    expect(account().balance).toBe(0n);
    const told = 'were revoked before: 0.000000 USD of credits revoked; 20.000000 USD of its credits could not be';
    expect(logLines.filter((line) => line.includes(told)).length).toBe(1);
  });

  it('and comes again, since its refund failed after all, gives back once what it took, which the log says, also where Stripe is away then', async () => {
    const { server, begin, tell, types, account, faults, logLines } = await scene();
    server.pay(await begin());
    const { id } = server.refund(String(server.all('payment_intent')[0]?.id), 500);
    expect(await tell('refund.created')).toBe(200);
    server.change(id, { status: 'failed' }, 'refund.failed');
    server.altered = (answer, { path }) => {
      server.isAway ||= path === '/v1/disputes';
      return answer;
    };
    expect(await tell('refund.failed')).toBe(503);
    [server.altered, server.isAway] = [null, false];
    for (const type of ['refund.failed', 'refund.created', 'refund.failed']) expect(await tell(type)).toBe(200);
    expect(account().balance).toBe(PRICE);
    expect((await types()).slice(GRANTED.length)).toEqual([
      ...['PaymentRefunded', 'GrantRevoked', 'RefundWithdrawn', 'GrantRestored'],
    ]);
    expect(logLines.filter((line) => line.includes('did not go back: it has failed; 5.000000 USD')).length).toBe(1);
    expect(await faults()).toEqual([]);
  });

  it('in a dispute comes back where it is won, however late and in which order it is told; an inquiry moves nothing', async () => {
    const { server, place, begin, tell, types, account, faults } = await scene();
    server.pay(await begin());
    const intent = String(server.all('payment_intent')[0]?.id);
    server.dispute(intent, 2_000, 'warning_needs_response');
    expect(await tell('charge.dispute.created')).toBe(200);
    expect(account().balance).toBe(PRICE);
    const { id } = server.dispute(intent, 2_000);
    const opened = server.events.at(-1);
    expect(await tell('charge.dispute.created')).toBe(200);
    expect(account().balance).toBe(0n);
    server.closeDispute(id, 'won');
    for (const one of [server.events.at(-1), opened])
      if (one !== undefined) expect(await server.deliver(place, one)).toBe(200);
    expect(account().balance).toBe(PRICE);
    expect((await types()).slice(GRANTED.length)).toEqual([
      ...['PaymentDisputed', 'GrantRevoked', 'DisputeClosed', 'GrantRestored'],
    ]);
    expect(await faults()).toEqual([]);
  });

  it('is heard of by what tells of the money alone: withdrawn for an inquiry that becomes a dispute, reinstated, and a refund of it that fails', async () => {
    const { server, begin, tell, types, account, faults } = await scene();
    server.pay(await begin());
    const intent = String(server.all('payment_intent')[0]?.id);
    expect(await tell('payment_intent.succeeded')).toBe(200);
    const { id } = server.dispute(intent, 2_000, 'warning_under_review');
    server.change(id, { status: 'needs_response' }, 'charge.dispute.funds_withdrawn');
    expect(await tell('charge.dispute.funds_withdrawn')).toBe(200);
    expect(account().balance).toBe(0n);
    server.change(id, { status: 'won' }, 'charge.dispute.funds_reinstated');
    expect(await tell('charge.dispute.funds_reinstated')).toBe(200);
    expect(account().balance).toBe(PRICE);
    const refund = server.refund(intent, 500);
    expect(await tell('charge.refunded')).toBe(200);
    server.change(refund.id, { status: 'failed' }, 'charge.refund.updated');
    expect(await tell('charge.refund.updated')).toBe(200);
    expect(account().balance).toBe(PRICE);
    expect((await types()).slice(GRANTED.length)).toEqual([
      ...['PaymentDisputed', 'GrantRevoked', 'DisputeClosed', 'GrantRestored'],
      ...['PaymentRefunded', 'GrantRevoked', 'RefundWithdrawn', 'GrantRestored'],
    ]);
    expect(await faults()).toEqual([]);
  });
});

describe('a card', () => {
  it('that its owner has agreed to is saved once, the latest stands, and none that was removed comes back', async () => {
    const { server, gateway, place, account, types, beginMethod, agree } = await scene();
    // The page that was made first is the one that is agreed to last.
    const [later, sooner] = [await beginMethod(), await beginMethod()];
    const first = agree(sooner, 'pm_first');
    const second = agree(later, 'pm_second');
    for (const one of [first, second, first]) expect(await server.deliver(place, one)).toBe(200);
    expect(account().billing.payments.method).toMatchObject({
      ...{ provider: 'stripe', paymentMethodId: 'pm_second', brand: 'visa', last4: '4242' },
    });
    await gateway.command({ type: 'RemovePaymentMethod', by: 'test', nowMs: Date.now() });
    for (const id of ['pm_first', 'pm_second']) server.change(id, { customer: null });
    for (const one of [first, second]) expect(await server.deliver(place, one)).toBe(200);
    expect(account().billing.payments.method).toBeNull();
    const saved = ['PaymentMethodSaved', 'PaymentMethodSaved', 'PaymentMethodRemoved'];
    expect((await types()).filter((type) => type.includes('Method'))).toEqual(saved);
  });
});

describe('a message', () => {
  it.each([
    ['of another ledger', { ledger: 'led_other' }],
    ['of no ledger', { ledger: '' }],
    ['of an account that can be none', { account: '../acct' }],
  ])('about a payment %s is heard once, and nothing is written', async (_, metadata) => {
    const { server, begin, tell, types, NAMES } = await scene();
    await begin();
    server.put(
      'payment_intents',
      { status: 'canceled', metadata: { ...NAMES, ...metadata } },
      'payment_intent.canceled',
    );
    expect(await tell('payment_intent.canceled')).toBe(200);
    expect(await types()).toEqual(['PurchaseStarted']);
  });

  it('about what Stripe does not know, of a connected account, or of a kind that matters to nobody is heard once', async () => {
    const { server, begin, event, place, types } = await scene();
    server.pay(await begin());
    const paid = event('payment_intent.succeeded');
    const asked = server.asked.length;
    expect(await server.deliver(place, { ...paid, account: 'acct_connected' })).toBe(200);
    expect(await server.deliver(place, { ...paid, type: 'payment_intent.created' })).toBe(200);
    const balance = { object: { object: 'balance' } };
    expect(await server.deliver(place, { ...paid, type: 'balance.available', data: balance })).toBe(200);
    expect(await server.deliver(place, { ...paid, type: 'ping', account: null, data: undefined })).toBe(200);
    expect(server.asked.length).toBe(asked);
    const unknown = { ...paid, data: { object: { id: 'pi_unknown', object: 'payment_intent' } } };
    expect(await server.deliver(place, unknown)).toBe(200);
    expect(await types()).toEqual(['PurchaseStarted']);
  });

  it.each([
    ['an attempt that the ledger does not have', { attempt: 'lost' }],
    ['an account that the ledger does not have', { account: 'acct_lost' }],
  ])('about money of %s is refused and told again, and the log says it', async (_, metadata) => {
    const { server, begin, tell, types, NAMES, logLines } = await scene();
    await begin();
    server.putPaid({ ...NAMES, ...metadata }, 'payment_intent.succeeded');
    expect(await tell('payment_intent.succeeded')).toBe(409);
    expect(await types()).toEqual(['PurchaseStarted']);
    expect(logLines.join('')).toContain('what the payment provider tells of an account is refused');
  });

  it('that Stripe has not signed, or not lately, is refused unasked; one of several secrets and signatures will do', async () => {
    const { server, begin, tell, types, place, event } = await scene();
    server.pay(await begin());
    const [asked, nowMs] = [server.asked.length, Date.now()];
    expect(await server.deliverSignedTwice(place, event('payment_intent.succeeded'))).toBe(400);
    for (const signing of [
      { secrets: ['whsec_of_somebody'] },
      { secrets: [] },
      { header: '' },
      { header: `t=${Math.floor(nowMs / 1_000)},v1=${'0'.repeat(64)}` },
      { header: 'v1=1' },
      { atMs: nowMs - 400_000 },
    ])
      expect(await tell('payment_intent.succeeded', signing)).toBe(400);
    expect([server.asked.length, await types()]).toEqual([asked, ['PurchaseStarted']]);
    for (const secrets of [['whsec_of_before'], ['whsec_of_somebody', WEBHOOK_SECRET]])
      expect(await tell('payment_intent.succeeded', { secrets, atMs: nowMs - 200_000 })).toBe(200);
    expect(await types()).toEqual(GRANTED);
  });

  it('is answered well only once its effect stands in the log: not while the log, or Stripe, is away', async () => {
    const { server, begin, tell, types, log } = await scene();
    server.pay(await begin());
    server.isAway = true;
    expect(await tell('payment_intent.succeeded')).toBe(503);
    server.isAway = false;
    log.faults = () => ({ type: 'refuse' });
    expect(await tell('payment_intent.succeeded')).toBe(503);
    log.faults = () => ({ type: 'none' });
    expect(await types()).toEqual(['PurchaseStarted']);
    await expect.poll(() => tell('payment_intent.succeeded')).toBe(200);
    expect(await types()).toEqual(GRANTED);
  });

  it('is heard on the operators’ listener alone, by POST, and no larger than 256 KiB', async () => {
    const { gateway, place, begin, server, event } = await scene();
    server.pay(await begin());
    const paid = event('payment_intent.succeeded');
    expect(await server.deliver(`${gateway.url}/webhooks/stripe`, paid)).toBe(404);
    expect((await fetch(place)).status).toBe(405);
    expect(await server.deliver(place, { ...paid, more: 'x'.repeat(256 * 1_024) })).toBe(413);
    const chunks = new ReadableStream({
      start: (stream) => {
        for (let count = 0; count < 5; count++) stream.enqueue(new Uint8Array(64 * 1_024));
        stream.close();
      },
    });
    const answer = await fetch(place, { method: 'POST', body: chunks, duplex: 'half' } as RequestInit);
    expect(answer.status).toBe(413);
  });

  it('leaves no secret, and no words of Stripe, in the log or in an event', async () => {
    const { server, begin, tell, logLines, gateway, payments } = await scene();
    const page = await begin();
    server.isAway = true;
    await payments.look();
    server.isAway = false;
    server.pay(page, 'pm_lost');
    await tell('payment_intent.payment_failed');
    await tell('payment_intent.payment_failed', { secrets: ['whsec_of_somebody'] });
    server.pay(page);
    await tell('payment_intent.succeeded');
    const told = `${logLines.join('')}${JSON.stringify(await gateway.events(), (_, one) => (typeof one === 'bigint' ? `${one}` : one))}`;
    expect(told).toContain('could not be found out');
    for (const secret of [SECRET_KEY, WEBHOOK_SECRET, 'whsec_of_before', 'words of Stripe'])
      expect(told).not.toContain(secret);
  });
});

it('no more than a few messages are looked into at once; the others are told again', async () => {
  const gate = Promise.withResolvers<null>();
  const provider = {
    ...{ name: 'stripe', kinds: { payment: 'p', consent: 'c' }, about: () => ({ kind: 'p', id: 'pi_1' }) },
    factsOf: () => gate.promise,
  } as unknown as TellingProvider;
  const parts = { log: new MemoryEventLog(), accounts: new AccountViews(), clock: Date.now, mayWrite: () => true };
  const webhooks = new PaymentWebhooks({ ...parts, product: 'gateway', provider, logger: pino({ level: 'silent' }) });
  const heard = Array.from({ length: 17 }, () => webhooks.hear(Buffer.from('{}'), ''));
  gate.resolve(null);
  expect((await Promise.all(heard)).map(({ status }) => status)).toEqual([...Array(16).fill(200), 503]);
  expect((await webhooks.hear(Buffer.from('{}'), '')).status).toBe(200);
});

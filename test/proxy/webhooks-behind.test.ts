import pino from 'pino';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountId, accountStream, attemptId, revision } from '../../contracts/ids.ts';
import { catchUpAccount } from '../../ledger/account/account-repository.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';
import { EMPTY_CATALOG } from '../../ledger/catalog/catalog-state.ts';
import { pursuePayments } from '../../ledger/payments/pursue-payments.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { TIMING } from '../../ledger/timing.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { PaymentWebhooks } from '../../proxy/payment-webhooks.ts';
import { given } from '../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, keyIssued, opened, openedAs, usd } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { STARTED_MS, stripeScene } from '../fixtures/stripe/stripe-example.ts';

const OTHER = accountId('acct_other');
/** What is logged of a message that is left: the one that Stripe's site of tests has told. */
const LEFT = {
  notice: { kind: 'payment_intent', id: 'pi_2', messageId: expect.stringMatching(/^evt_\d+$/) },
  product: 'gateway',
};

/** A purchase that another gateway has begun and that is paid, and the views as they were before it, and before its account. */
async function scene() {
  const { server, time, provider } = await stripeScene();
  const log = new MemoryEventLog();
  const write = (...events: AccountEvent[]): void =>
    log.write(accountStream(ACCOUNT), encodeEvents(events, recordingBy('test', STARTED_MS)));
  const caughtUp = async (): Promise<AccountViews> => {
    const accounts = new AccountViews();
    await catchUpAccount(log, accounts, ACCOUNT);
    return accounts;
  };
  write(opened, keyIssued());
  const behind = await caughtUp();
  write(
    ...given(opened, keyIssued()).decided({
      ...{ type: 'StartPurchase', attemptId: attemptId('bought'), provider: 'stripe', amount: usd(8_000_000) },
      ...{ price: usd(8_000_000), by: 'owner@example.com', nowMs: STARTED_MS },
    }),
  );
  const clock = () => time.nowMs;
  await pursuePayments(ACCOUNT, {
    ...{ log, accounts: await caughtUp(), provider, clock, catalog: () => EMPTY_CATALOG, asksOpen: true },
    ...{ timing: TIMING, onUnknown: () => undefined, onRefused: () => undefined, onMoved: () => undefined },
  });
  server.pay(server.all('checkout.session').at(-1)?.id ?? '');
  const paid = server.events.findLast(({ type }) => type === 'payment_intent.succeeded');
  if (paid === undefined) throw new Error('Stripe tells of no payment');
  const { body, signature } = server.signed(paid);
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  const parts = { log, provider, clock, logger };
  const hearing = (accounts: AccountViews, product: string, may = true) => {
    const webhooks = new PaymentWebhooks({ ...parts, accounts, product, mayWrite: () => may });
    return async (by = signature): Promise<number> => (await webhooks.hear(Buffer.from(body), by)).status;
  };
  const hear = (...of: Parameters<typeof hearing>): Promise<number> => hearing(...of)();
  return {
    ...{ behind, hear, hearing, time },
    said: () => lines.splice(0).map((line) => JSON.parse(line)),
    written: () => log.events.map(({ type }) => type).slice(2),
  };
}

it('a payment that another gateway began, and that is told of before the views know it, is granted', async () => {
  const { behind, hear, written } = await scene();
  expect(await hear(behind, 'gateway')).toBe(200);
  expect(written()).toEqual(['PurchaseStarted', 'PaymentSucceeded', 'CreditsGranted']);
});

it('a payment of an account of another product is heard once, and left to its own gateways, also before the views know it', async () => {
  const { behind, hear, written, said } = await scene();
  for (const accounts of [behind, new AccountViews()]) {
    accounts.fold(OTHER, revision(0), openedAs('other', OTHER));
    expect(await hear(accounts, 'other')).toBe(200);
    expect(said()).toEqual([expect.objectContaining({ level: 30, ...LEFT, served: 'other' })]);
  }
  expect(written()).toEqual(['PurchaseStarted']);
});

it('a payment of an account of another product is to be told again where none is of the one that is configured, and is granted then', async () => {
  const { behind, hear, written, said } = await scene();
  for (const accounts of [behind, new AccountViews()]) {
    expect(await hear(accounts, 'gatway')).toBe(503);
    expect(said()).toEqual([expect.objectContaining({ level: 40, ...LEFT, served: 'gatway' })]);
  }
  behind.putAside(OTHER, new AccountUnreadableError(OTHER, revision(0), 'it may be of any product'));
  expect(await hear(behind, 'gatway')).toBe(503);
  expect(written()).toEqual(['PurchaseStarted']);
  expect(await hear(behind, 'gateway')).toBe(200);
  expect(written()).toContain('PaymentSucceeded');
});

it('that none is of the one that is configured is told once a minute, with how many messages there were', async () => {
  const { behind, hearing, said, time } = await scene();
  const hear = hearing(behind, 'gatway');
  const heard = async (times: number): Promise<number[]> => {
    for (let at = 0; at < times; at++) expect(await hear()).toBe(503);
    return said().map(({ count }) => count);
  };
  expect(await heard(3)).toEqual([1]);
  time.nowMs += 60_000;
  expect(await heard(2)).toEqual([3]);
  // What nobody has proven is counted by itself.
  expect(await hear('t=1,v1=00')).toBe(400);
  expect(said()).toEqual([expect.objectContaining({ level: 40, count: 1, reason: expect.any(String) })]);
});

it('a payment that is told of while nothing final may be written is to be told again, and is granted then', async () => {
  const { behind, hear, written } = await scene();
  expect(await hear(behind, 'gateway', false)).toBe(503);
  expect(written()).toEqual(['PurchaseStarted']);
  expect(await hear(behind, 'gateway')).toBe(200);
  expect(written()).toContain('PaymentSucceeded');
});

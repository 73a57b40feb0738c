import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { accountStream, attemptId } from '../../../contracts/ids.ts';
import { type Actor, SYSTEM } from '../../../contracts/permissions.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import { type AccountCommand, commandRefused } from '../../../ledger/account/commands.ts';
import type { CreditsMoved } from '../../../ledger/account/credits-moved.ts';
import { executeOnRepository, type WhyNot } from '../../../ledger/account/execute-command.ts';
import { EMPTY_CATALOG } from '../../../ledger/catalog/catalog-state.ts';
import type { AskedPayment, PaymentOutcome } from '../../../ledger/payments/payment-provider.ts';
import { pursuePayments, type UnwrittenPayments } from '../../../ledger/payments/pursue-payments.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { ACCOUNT, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { stripeScene } from '../../fixtures/stripe/stripe-example.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const OPERATOR: Actor = { type: 'operator', name: 'test' };
const BY_ITSELF: ReadonlySet<string> = new Set(['RecordPaymentFailure', 'StartAutoReload', 'SavePaymentMethod']);
const RELOAD = attemptId('reload_1');
const WAITS: PaymentOutcome = { type: 'waits', url: null };
const configure: AccountCommand = {
  ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000) },
  ...{ monthlyCap: usd(60_000_000), consentedAtMs: NOW, by: 'owner@example.com' },
};
const save: AccountCommand = {
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus_1', paymentMethodId: 'pm_ok', brand: 'visa' },
  ...{ last4: '4242', consentedAtMs: NOW, by: 'owner@example.com' },
};
const off: AccountCommand = { ...configure, consentedAtMs: null };
const declined: AccountCommand = {
  ...{ type: 'RecordPaymentFailure', attemptId: RELOAD, code: 'card_declined', isTerminal: false, nowMs: NOW },
};

/** A purchase and a reload are open, and are asked of in one go; `meanwhile` is done while the provider takes its time with one of them. */
async function pursued(meanwhile: AccountCommand, during: 'purchase' | 'reload'): Promise<string[]> {
  const log = new MemoryEventLog();
  log.write(accountStream(ACCOUNT), encodeEvents([opened], recordingBy('test', NOW)));
  const accounts = new AccountViews();
  await catchUpAccount(log, accounts, ACCOUNT);
  const run = async (command: AccountCommand): Promise<void> => {
    const actor = BY_ITSELF.has(command.type) ? SYSTEM : OPERATOR;
    const { type } = await executeOnRepository(log, accounts, ACCOUNT, command, actor, recordingBy('test', NOW));
    expect(type).toBe('done');
  };
  const begun = { provider: 'stripe', nowMs: NOW } as const;
  const card = { customerId: 'c', paymentMethodId: 'pm', brand: 'visa', last4: '4242' };
  await run({ type: 'SavePaymentMethod', provider: 'stripe', ...card, consentedAtMs: NOW, by: 'owner@example.com' });
  await run(configure);
  const amounts = { amount: usd(1_000_000), price: usd(1_000_000) };
  await run({
    type: 'StartPurchase',
    attemptId: attemptId('a_purchase'),
    ...amounts,
    by: 'owner@example.com',
    ...begun,
  });
  await run({ type: 'StartAutoReload', attemptId: RELOAD, ...begun });
  const did: string[] = [];
  const answer =
    (word: string) =>
    async ({ attempt, method }: AskedPayment): Promise<PaymentOutcome> => {
      if (attempt.kind === during) await run(meanwhile);
      did.push(`${word} ${attempt.kind} ${method()?.paymentMethodId ?? 'with nothing'}`);
      return WAITS;
    };
  await pursuePayments(ACCOUNT, {
    ...{ log, accounts, catalog: () => EMPTY_CATALOG, clock: () => NOW, asksOpen: true },
    provider: { name: 'stripe', ask: answer('asks of'), withdraw: answer('withdraws') },
    onUnknown: (error) => {
      throw error;
    },
    onRefused: () => undefined,
    onMoved: () => undefined,
  });
  return did;
}

it('what is wanted no more since another was asked of is withdrawn, and what was decided meanwhile is not asked of', async () => {
  expect(await pursued(configure, 'purchase')).toEqual(['asks of purchase pm', 'asks of reload pm']);
  expect(await pursued(off, 'purchase')).toEqual(['asks of purchase pm', 'withdraws reload with nothing']);
  expect(await pursued(declined, 'purchase')).toEqual(['asks of purchase pm']);
});

it('what may be charged is asked for as it is charged', async () => {
  for (const meanwhile of [
    off,
    declined,
    { type: 'RemovePaymentMethod', by: 'owner@example.com', nowMs: NOW } as const,
  ])
    expect(await pursued(meanwhile, 'reload')).toEqual(['asks of purchase pm', 'asks of reload with nothing']);
});

/** Something is done elsewhere just before the next append comes to it. */
class ShiftingLog extends MemoryEventLog {
  before: (() => Promise<void>) | null = null;

  override async append(...args: Parameters<MemoryEventLog['append']>): ReturnType<MemoryEventLog['append']> {
    const { before } = this;
    this.before = null;
    await before?.();
    return super.append(...args);
  }
}

it('what another gateway has begun since this one looked is looked for where the provider refuses: that one may have asked before', async () => {
  const { server, provider } = await stripeScene();
  const log = new ShiftingLog();
  log.write(accountStream(ACCOUNT), encodeEvents([opened], recordingBy('test', NOW)));
  const [accounts, others] = [new AccountViews(), new AccountViews()];
  const pursuedBy = async (views: AccountViews): Promise<void> => {
    await catchUpAccount(log, views, ACCOUNT);
    await pursuePayments(ACCOUNT, {
      ...{ log, accounts: views, provider, catalog: () => EMPTY_CATALOG, clock: () => NOW, asksOpen: false },
      onUnknown: () => undefined,
      onRefused: () => undefined,
      onMoved: () => undefined,
    });
  };
  await catchUpAccount(log, accounts, ACCOUNT);
  for (const command of [save, configure])
    await executeOnRepository(
      log,
      accounts,
      ACCOUNT,
      command,
      command.type === 'SavePaymentMethod' ? SYSTEM : OPERATOR,
      recordingBy('test', NOW),
    );
  // The other one's payment is made, and it ends before it has written that down.
  log.before = async () => {
    log.before = async () => {
      log.before = async () => {
        throw new Error('ended');
      };
    };
    await pursuedBy(others);
    server.faults.push('forbidden', 'forbidden');
  };
  await pursuedBy(accounts);
  expect(server.all('payment_intent').length).toBe(1);
  expect(log.events.slice(-3).map(({ type }) => type)).toEqual([
    'AutoReloadStarted',
    'PaymentSucceeded',
    'CreditsGranted',
  ]);
});

describe('a reload that was paid, whose money went back before anybody here has heard of either', () => {
  /** Stripe has charged it, and could not be read then. */
  async function paidUnheard() {
    const { server, provider } = await stripeScene();
    const log = new MemoryEventLog();
    log.write(accountStream(ACCOUNT), encodeEvents([opened], recordingBy('test', NOW)));
    const accounts = new AccountViews();
    await catchUpAccount(log, accounts, ACCOUNT);
    for (const command of [save, configure]) {
      const actor = BY_ITSELF.has(command.type) ? SYSTEM : OPERATOR;
      await executeOnRepository(log, accounts, ACCOUNT, command, actor, recordingBy('test', NOW));
    }
    const [moved, unknown]: [CreditsMoved[], unknown[]] = [[], []];
    const unwritten: UnwrittenPayments = new Map();
    const look = async (whyNot: WhyNot = () => null): Promise<string[]> => {
      const from = log.events.length;
      await pursuePayments(ACCOUNT, {
        ...{ log, accounts, provider, catalog: () => EMPTY_CATALOG, clock: () => NOW, asksOpen: true },
        ...{ whyNot, unwritten },
        onUnknown: (error) => unknown.push(error),
        onRefused: () => undefined,
        onMoved: (one) => moved.push(one),
      });
      return log.events.slice(from).map(({ type }) => type);
    };
    server.isUnreadable = true;
    expect(await look()).toEqual(['AutoReloadStarted']);
    server.isUnreadable = false;
    return { server, look, moved, unknown, intent: String(server.all('payment_intent')[0]?.id) };
  }

  it.each([
    ['refund', 'PaymentRefunded'],
    ['dispute', 'PaymentDisputed'],
  ] as const)('is written down with its %s, once, and what that took is told', async (word, event) => {
    const { server, look, moved, intent } = await paidUnheard();
    const { id } = server[word](intent, 500);
    expect(await look()).toEqual(['PaymentSucceeded', 'CreditsGranted', event, 'GrantRevoked', 'AutoReloadPaused']);
    expect(moved).toMatchObject([{ type: 'taken', id, revoked: 5_000_000n }]);
    expect(await look()).toEqual([]);
  });

  it('is asked of again until what a request under way stands against is written, too', async () => {
    const { server, look, unknown, intent } = await paidUnheard();
    server.refund(intent, 500);
    const reason = 'a request is to be debited from it first';
    const notYet: WhyNot = (_, events) =>
      events.some(({ type }) => type === 'PaymentRefunded') ? commandRefused('not_written_off', reason) : null;
    expect(await look(notYet)).toEqual(['PaymentSucceeded', 'CreditsGranted']);
    expect(await look(notYet)).toEqual([]);
    expect(unknown.slice(1)).toEqual([new Error(reason), new Error(reason)]);
    expect(await look()).toEqual(['PaymentRefunded', 'GrantRevoked', 'AutoReloadPaused']);
    expect(await look()).toEqual([]);
  });

  it('is asked of again also where something else of the same answer is refused for good', async () => {
    const { server, look, unknown, intent } = await paidUnheard();
    const [first, second] = [server.refund(intent, 300).id, server.refund(intent, 200).id];
    const refusedAs = (code: 'not_written_off' | 'payment_differs', id: string) =>
      commandRefused(code, `${id}: ${code}`);
    const notYet: WhyNot = (_, events) => {
      const refund = events.find(({ type }) => type === 'PaymentRefunded');
      if (refund?.type !== 'PaymentRefunded') return null;
      const { refundId } = refund.data;
      return refusedAs(refundId === first ? 'payment_differs' : 'not_written_off', refundId);
    };
    expect(await look(notYet)).toEqual(['PaymentSucceeded', 'CreditsGranted']);
    expect(await look(notYet)).toEqual([]);
    expect(unknown.slice(1)).toEqual(
      [0, 1].map(() => expect.objectContaining({ message: expect.stringContaining(`${second}: not_written_off`) })),
    );
    expect(await look()).toContain('PaymentRefunded');
  });

  it('is open while what became of its money cannot be told', async () => {
    const { server, look, unknown, intent } = await paidUnheard();
    server.refund(intent, 500);
    server.altered = (answer, { path }) => (path === '/v1/refunds' ? { of: 'something else' } : answer);
    expect(await look()).toEqual([]);
    expect(unknown).toMatchObject([{}, { name: 'UnfitAnswerError' }]);
    server.altered = null;
    expect(await look()).toContain('PaymentRefunded');
  });
});

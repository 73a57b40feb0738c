import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { MonthBooks } from '../../../ledger/report/month-books.ts';
import { bookPage } from '../../../ledger/report/page.ts';
import { receivedIn } from '../../../ledger/report/payments-book.ts';
import { SealCoverage } from '../../../ledger/report/seal-coverage.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { granted, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { subscribed } from '../../fixtures/ledger/example-plan-events.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

const AT = '2026-11-20T10:00:00.000Z';
const HOUR = 3_600_000;
const nowMs = ms(AT);
const SAID = { actor: 'eve', nowMs };
const purchase = (id: string, price: number): AccountCommand => ({
  ...{
    type: 'StartPurchase',
    attemptId: attemptId(id),
    provider: 'manual',
    amount: usd(90),
    price: usd(price),
    by: 'x',
    nowMs,
  },
});
const pay = (id: string, amount: number, provider = 'manual'): AccountCommand => ({
  ...{
    type: 'RecordPayment',
    attemptId: attemptId(id),
    provider,
    paymentId: paymentId(`T_${id}`),
    amount: usd(amount),
  },
  ...{ paidAtMs: nowMs, nowMs },
});
const of = (id: string) => ({ paymentId: paymentId(`T_${id}`), reason: 'told', ...SAID });
const dispute = (id: string, disputeId: string, amount: number): AccountCommand => ({
  ...{ type: 'RecordDispute', ...of(id), disputeId, amount: usd(amount), openedAtMs: nowMs },
});
const close = (id: string, disputeId: string, outcome: 'won' | 'lost'): AccountCommand => ({
  ...{ type: 'CloseDispute', ...of(id), disputeId, outcome, closedAtMs: nowMs },
});
const fail = (id: string, isTerminal: boolean): AccountCommand => ({
  ...{ type: 'RecordPaymentFailure', attemptId: attemptId(id), code: 'card_declined', isTerminal, nowMs },
});
const reload = (id: string, at = nowMs): CommandOf<'StartAutoReload'> => ({
  ...{ type: 'StartAutoReload', attemptId: attemptId(id), provider: 'stripe', nowMs: at },
});
const restore = (revocationId: string): AccountCommand => ({
  ...{ type: 'RestoreGrant', restorationId: 'b', revocationId, amount: null, reason: 'goodwill', ...SAID },
});

const life: AccountEvent[] = [opened];
const commands: readonly AccountCommand[] = [
  ...[purchase('p1', 100), pay('p1', 100)],
  { type: 'RecordRefund', ...of('p1'), refundId: 're_1', amount: usd(10), refundedAtMs: nowMs },
  ...[dispute('p1', 'dp_1', 50), close('p1', 'dp_1', 'won'), dispute('p1', 'dp_2', 40), close('p1', 'dp_2', 'lost')],
  restore('dp_2'),
  purchase('p2', 7),
  { type: 'AbandonPayment', attemptId: attemptId('p2'), reason: 'never came', nowMs },
  ...[purchase('p3', 8), pay('p3', 8)],
  ...[dispute('p3', 'dp_3', 8)],
  ...(['ConfigureAutoReload'] as const).map((type) => ({
    ...{
      type,
      threshold: usd(1_000),
      target: usd(1_000_000),
      monthlyCap: usd(3_000_000),
      consentedAtMs: nowMs,
      by: 'x',
    },
  })),
  reload('none'),
  {
    ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId: 'm', brand: 'visa' },
    ...{ last4: '4242', consentedAtMs: nowMs, by: 'x' },
  },
  ...[reload('r1'), fail('r1', false), reload('r2', nowMs + HOUR), fail('r2', true), pay('r1', 1_000_000, 'stripe')],
  {
    type: 'RevokeGrant',
    revocationId: 'by hand',
    grantId: grantId('payment_T_p1'),
    amount: null,
    cause: 'fraud',
    ...SAID,
    paymentId: null,
    reason: 'stolen',
  },
];
for (const command of commands) life.push(...given(...life).decided(command));

const books = (month: string) => {
  const reading = new MonthBooks(month, new SealCoverage(month));
  for (const event of recordedLife(life.map((one) => ({ event: one, atMs: nowMs })))) reading.take(event);
  return reading.result();
};

it('counts what was paid, what went back, and what came to nothing', () => {
  const { payments } = books('2026-11');
  expect(payments.sums).toEqual({
    bought: { count: 2, money: 108n },
    reloaded: { count: 1, money: 1_000_000n },
    renewed: { count: 0, money: 0n },
    refunded: { count: 1, money: -10n },
    withdrawn: { count: 0, money: 0n },
    disputed: { count: 3, money: -98n },
    won: { count: 1, money: 50n },
    lost: { count: 1, money: 0n },
    failed: { count: 2, money: 0n },
    abandoned: { count: 1, money: 0n },
    skipped: { count: 1, money: 0n },
    paused: { count: 1, money: 0n },
  });
  expect(receivedIn(payments)).toBe(1_000_050n);
  expect(books('2026-12').payments.notes.all).toEqual([]);
});

it('counts what was paid for a plan beside what was bought', () => {
  const reading = new MonthBooks('2026-11', new SealCoverage('2026-11'));
  const events = [opened, ...subscribed('starter', AT)].map((event) => ({ event, atMs: nowMs }));
  for (const event of recordedLife(events)) reading.take(event);
  const { payments } = reading.result();
  expect(payments.sums).toMatchObject({ renewed: { count: 1, money: 20_000_000n }, bought: { count: 0, money: 0n } });
  expect(payments.notes.all).toMatchObject([{ money: 20_000_000n, credits: 25_000_000n }]);
});

it('shows a payment with the credits that it has bought, where an operator of before has granted others under its usual id', () => {
  const byHand = granted('payment_T_p1', 7, { source: 'promotion', costBasis: usd(0) });
  const events: AccountEvent[] = [opened, byHand];
  for (const command of [purchase('p1', 100), pay('p1', 100)]) events.push(...given(...events).decided(command));
  expect(events.at(-1)?.data).toMatchObject({ grantId: 'payment_~T_p1' });
  const reading = new MonthBooks('2026-11', new SealCoverage('2026-11'));
  for (const event of recordedLife(events.map((one) => ({ event: one, atMs: nowMs })))) reading.take(event);
  expect(reading.result().payments.notes.all).toMatchObject([{ money: 100n, credits: 90n }]);
});

it('shows what comes back with a refund that fails beside it, whichever disputes had taken it', () => {
  const events: AccountEvent[] = [opened];
  const ofStripe = { ...purchase('p1', 100), provider: 'stripe' } as AccountCommand;
  const told = { ...of('p1'), reason: undefined, refundId: 're_1' };
  const withdrawn = { type: 'WithdrawRefund', ...told, stood: 're_1' } as unknown as AccountCommand;
  const refunded = {
    type: 'RecordRefund',
    ...told,
    amount: usd(100),
    refundedAtMs: nowMs,
  } as unknown as AccountCommand;
  for (const command of [
    ...[ofStripe, pay('p1', 100, 'stripe'), dispute('p1', 'dp_1', 40), dispute('p1', 'dp_2', 60), refunded],
    ...[close('p1', 'dp_1', 'won'), close('p1', 'dp_2', 'won'), withdrawn],
  ])
    events.push(...given(...events).decided(command));
  const reading = new MonthBooks('2026-11', new SealCoverage('2026-11'));
  for (const event of recordedLife(events.map((one) => ({ event: one, atMs: nowMs })))) reading.take(event);
  const { payments, notes } = reading.result();
  expect(events.filter(({ type }) => type === 'GrantRestored')).toHaveLength(2);
  expect(payments.notes.all.map(({ money, credits }) => [money, credits])).toEqual([
    ...[
      [100n, 90n],
      [-40n, -36n],
      [-60n, -54n],
      [-100n, null],
    ],
    ...[
      [40n, null],
      [60n, null],
      [100n, 90n],
    ],
  ]);
  expect(notes.all).toEqual([]);
});

it('shows what another grant loses and gets back by hand with the corrections, also in the same millisecond and called as a payment’s', () => {
  const events: AccountEvent[] = [opened, granted('ext', 30)];
  const revoked = (revocationId: string): AccountCommand => ({
    ...{ type: 'RevokeGrant', revocationId, grantId: grantId('ext'), amount: usd(5), cause: 'dispute' },
    ...{ paymentId: paymentId('EXT'), reason: 'x', ...SAID },
  });
  const restored = (restorationId: string): AccountCommand => ({
    ...{ type: 'RestoreGrant', restorationId, revocationId: 'dp_1_lost', amount: usd(1), reason: 'x', ...SAID },
  });
  /** Under ids as programs of before let an operator choose them. */
  const called: Readonly<Record<string, string>> = { first: 'dp_1_won_2', second: 're_1_withdrawn_2' };
  const asBefore = (event: AccountEvent): AccountEvent =>
    event.type === 'GrantRestored'
      ? {
          ...event,
          data: { ...event.data, restorationId: called[event.data.restorationId] ?? event.data.restorationId },
        }
      : event;
  for (const command of [
    ...[purchase('p1', 100), pay('p1', 100), dispute('p1', 'dp_1', 40), close('p1', 'dp_1', 'lost')],
    ...[revoked('dp_1_lost'), close('p1', 'dp_1', 'won'), restored('first')],
    { type: 'RecordRefund', ...of('p1'), refundId: 're_1', amount: usd(10), refundedAtMs: nowMs } as const,
    { type: 'WithdrawRefund', ...of('p1'), refundId: 're_1' } as const,
    restored('second'),
  ])
    events.push(
      ...given(...events)
        .decided(command)
        .map(asBefore),
    );
  const reading = new MonthBooks('2026-11', new SealCoverage('2026-11'));
  for (const event of recordedLife(events.map((one) => ({ event: one, atMs: nowMs })))) reading.take(event);
  const { payments, notes } = reading.result();
  expect(payments.notes.all.map(({ credits }) => credits)).toEqual([90n, -36n, null, 36n, -9n, 9n]);
  expect(notes.all.map(({ amount }) => amount)).toEqual([5n, 1n, 1n]);
});

it('shows each once, with its money and the credits that went with it, and what was corrected by hand with the corrections', () => {
  const { payments, notes, checks } = books('2026-11');
  expect(
    payments.notes.all.map(({ what, money, credits }) => [what.replace(/ \(.*| at .*/, ''), money, credits]),
  ).toEqual([
    ['0.000100 USD paid', 100n, 90n],
    ['0.000010 USD of T_p1 refunded', -10n, -9n],
    ['0.000050 USD of T_p1 disputed by whoever paid', -50n, -45n],
    ['dispute dp_1 was won: told', 50n, 45n],
    ['0.000040 USD of T_p1 disputed by whoever paid', -40n, -36n],
    ['dispute dp_2 was lost: told', null, null],
    ['nothing was paid: never came', null, null],
    ['0.000008 USD paid', 8n, 90n],
    ['0.000008 USD of T_p3 disputed by whoever paid', -8n, -90n],
    ['no auto-reload: no payment method is saved', null, null],
    ['payment failed: card_declined, not tried again before 2026-11-20 11:00:00', null, null],
    ['payment failed for good: card_declined', null, null],
    ['auto-reload paused: card_declined', null, null],
    ['1.000000 USD paid', 1_000_000n, 1_000_000n],
  ]);
  expect(notes.all.map(({ what, amount }) => [what, amount])).toEqual([
    ['revoked credits restored (payment_T_p1)', 36n],
    ['credits revoked, fraud (payment_T_p1)', 81n],
  ]);
  expect(checks.filter(({ one, other }) => one !== other)).toEqual([]);
});

it('stands on the page, in sums and one by one', () => {
  const page = bookPage(books('2026-11'), '2026-12-01T00:00:00.000Z');
  expect(page).toMatch(/<td>refunded<\/td><td class="n">1<\/td><td class="n">-0\.000010<\/td>/);
  expect(page).toMatch(/<td>received<\/td><td class="n"><\/td>\s*<td class="n">1\.000050<\/td>/);
  expect(page).toMatch(/re_1\): told<\/td><td class="n">-0\.000010<\/td><td class="n">-0\.000009<\/td><td>eve<\/td>/);
});

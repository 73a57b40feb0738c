import { expect, it } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { attemptId, paymentId } from '../../contracts/ids.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { given } from '../fixtures/ledger/decider-specification.ts';
import { granted, ms, opened, usd } from '../fixtures/ledger/example-account.ts';
import { lostOf, toldOf } from './put-back.ts';

const NOW = ms('2026-12-04T10:00:00.000Z');
const organization = { ...opened, data: { ...opened.data, kind: 'organization' } } as AccountEvent;
const purchase = (id: string): AccountCommand => ({
  ...{ type: 'StartPurchase', attemptId: attemptId(id), provider: 'manual', amount: usd(20_000_000) },
  ...{ price: usd(18_000_000), by: 'x', nowMs: NOW },
});
const pay = (id: string): AccountCommand => ({
  ...{ type: 'RecordPayment', attemptId: attemptId(id), provider: 'manual', paymentId: paymentId(`T_${id}`) },
  ...{ amount: usd(18_000_000), paidAtMs: NOW, nowMs: NOW },
});
const member = (type: 'AddMember' | 'ChangeMemberRole', email: string, role: 'admin' | 'member'): AccountCommand => ({
  ...{ type, email, role, by: 'x', nowMs: NOW },
});
const of = (id: string) => ({ paymentId: paymentId(`T_${id}`), reason: 'x', actor: 'x', nowMs: NOW });
const KEPT: readonly AccountCommand[] = [
  ...(['ben', 'cat', 'dan'] as const).map((name) => member('AddMember', `${name}@example.com`, 'admin')),
  ...[purchase('p1'), pay('p1'), purchase('p2')],
];
const LOST: readonly AccountCommand[] = [
  pay('p2'),
  purchase('p3'),
  { type: 'RecordRefund', ...of('p1'), refundId: 're_1', amount: usd(5_000_000), refundedAtMs: NOW },
  { type: 'RecordDispute', ...of('p2'), disputeId: 'dp_1', amount: usd(18_000_000), openedAtMs: NOW },
  { type: 'CloseDispute', ...of('p2'), disputeId: 'dp_1', outcome: 'lost', closedAtMs: NOW },
  {
    ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId: 'm', brand: 'visa' },
    ...{ last4: '4242', consentedAtMs: NOW, by: 'x' },
  },
  {
    ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000), monthlyCap: usd(50_000_000) },
    ...{ consentedAtMs: NOW, by: 'x' },
  },
  { type: 'RemoveMember', email: 'ben@example.com', by: 'x', nowMs: NOW },
  member('ChangeMemberRole', 'cat@example.com', 'member'),
  member('AddMember', 'eve@example.com', 'member'),
];

function lived(life: readonly AccountEvent[], commands: readonly AccountCommand[]): AccountEvent[] {
  const events = [...life];
  for (const command of commands) events.push(...given(...events).decided(command));
  return events;
}

async function toDo(
  kept: readonly AccountEvent[],
  known: readonly AccountEvent[],
  since: readonly AccountEvent[] = [],
) {
  const told = toldOf(await lostOf({ kept, known, since, nowMs: NOW }));
  return told?.filter((line) => !/^(balance|debt|grant) /.test(line));
}

const kept = lived([organization], KEPT);
const known = lived(kept, LOST);
const PAYMENTS = [
  'payment p2 of acme: purchase at manual, 20.000000 USD of credits for 18.000000 USD, paid (T_p2); the ledger has it open',
  'payment p3 of acme: purchase at manual, 20.000000 USD of credits for 18.000000 USD, open; the ledger has nothing of it',
  'refund re_1 of T_p1 of acme: 5.000000 USD, refunded',
  'dispute dp_1 of T_p2 of acme: 18.000000 USD, lost',
];

it('lost members, payments, refunds, disputes, the saved method and auto-reload are told, each as it was', async () => {
  expect(await toDo(kept, known)).toEqual([
    'member ben@example.com of acme: removed, the ledger has them as admin',
    'member cat@example.com of acme: member, the ledger has them as admin',
    'member eve@example.com of acme: member, the ledger does not have them',
    ...PAYMENTS,
    'payment method of acme: visa …4242 at stripe',
    'auto-reload of acme: at 5.000000 USD up to 20.000000 USD, at most 50.000000 USD a month',
  ]);
});

it('what the ledger has, or was done again since, is not told', async () => {
  expect(await toDo(known, known)).toEqual([]);
  expect(await toDo(kept, known, known.slice(kept.length))).toEqual([]);
  // Behind the revision that the views know, too.
  const others = known.map((_event, at) => granted(`n${at}`, 1));
  expect(await toDo(kept, known, lived([...kept, ...others], LOST).slice(kept.length))).toEqual([]);
});

it('what the ledger has changed behind what views know is not told', async () => {
  const since = lived(known, [
    { type: 'RemoveMember', email: 'dan@example.com', by: 'x', nowMs: NOW },
    { type: 'RemovePaymentMethod', by: 'x', nowMs: NOW },
    { type: 'AbandonPayment', attemptId: attemptId('p3'), reason: 'x', nowMs: NOW },
    { type: 'WithdrawRefund', ...of('p1'), refundId: 're_1' },
    { type: 'CloseDispute', ...of('p2'), disputeId: 'dp_1', outcome: 'won', closedAtMs: NOW },
  ]);
  expect(await toDo(known, known, since.slice(known.length))).toEqual([]);
});

it('how a dispute ended is told where that alone is lost', async () => {
  const open = known.slice(
    0,
    known.findIndex(({ type }) => type === 'DisputeClosed'),
  );
  expect((await toDo(open, known))?.filter((line) => line.startsWith('dispute'))).toEqual([PAYMENTS[3]]);
});

it('that a refund was withdrawn is told where that alone is lost', async () => {
  const withdrawn = lived(known, [{ type: 'WithdrawRefund', ...of('p1'), refundId: 're_1' }]);
  expect(await toDo(known, withdrawn)).toEqual(['refund re_1 of T_p1 of acme: 0.000000 USD, withdrawn']);
});

it('of an account that is lost all of it is told but its first owner', async () => {
  const told = await toDo([], known);
  expect(told?.filter((line) => line.startsWith('member'))).toEqual([
    'member cat@example.com of acme: member, the ledger does not have them',
    'member dan@example.com of acme: admin, the ledger does not have them',
    'member eve@example.com of acme: member, the ledger does not have them',
  ]);
  expect(told).toContain(PAYMENTS[3]);
});

it('what was turned off or removed is told as that', async () => {
  const off = lived(known, [
    { type: 'RemovePaymentMethod', by: 'x', nowMs: NOW },
    {
      ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000), consentedAtMs: null },
      ...{ monthlyCap: usd(50_000_000), by: 'x' },
    },
  ]);
  expect(await toDo(known, off)).toEqual(['payment method of acme: none', 'auto-reload of acme: off']);
});

it('a month whose statement is lost is told with what it was closed with', async () => {
  const life = [opened, granted('g', 1_000_000)];
  const closed: AccountEvent = {
    type: 'StatementClosed',
    data: {
      ...{ month: '2026-11', product: 'default', opening: usd(0) as never, closing: usd(1_000_000) as never },
      ...{ granted: usd(1_000_000), reinstated: usd(0), restored: usd(0), reversed: usd(0), adjustedUp: usd(0) },
      ...{ debited: usd(0), expired: usd(0), revoked: usd(0), adjustedDown: usd(0) },
      ...{ firstRevision: 1, lastRevision: 1, closedAt: '2026-12-04T00:00:00.000Z' },
    } as never,
  };
  expect(await toDo([...life, closed], [...life, closed])).toEqual([]);
  expect(await toDo(life, [...life, closed])).toEqual([
    'statement of acme for 2026-11: it was closed with 1.000000 USD, and will be anew',
  ]);
});

import fc from 'fast-check';
import { attemptId, grantId, paymentId, requestId } from '../../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../../contracts/money.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { lastMonthOver } from '../../../ledger/account/month.ts';
import { usageOf } from '../../fixtures/ledger/example-account.ts';
import { PRICE_CARD } from '../../fixtures/ledger/random-life.ts';
import type { RealAccount } from './real-account.ts';
import { move, oneOf } from './step.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SAID = { actor: 'operator' } as const;

const which = fc.nat({ max: 1_000 });
/** In percent; null is all. Now and then nothing, or more than there is. */
const part = fc.option(fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 100 }) }, fc.constantFrom(0, 101)));
const reason = fc.constantFrom('x', 'x', 'x', 'x', 'x', 'x', 'x', ' ');
/** Micro-USD: few for many a boundary, many for what auto-reload is about. */
const amount = fc.oneof(fc.nat({ max: 900 }), fc.nat({ max: 900 }), fc.nat({ max: 2_000_000 }));
const few = fc.record({
  input: fc.nat({ max: 60 }),
  output: fc.nat({ max: 20 }),
  cacheRead: fc.nat({ max: 9 }),
  cacheWrite5m: fc.nat({ max: 3 }),
  cacheWrite1h: fc.nat({ max: 3 }),
});
const tokens = fc.oneof(
  { weight: 5, arbitrary: few },
  { weight: 1, arbitrary: few.map((of) => ({ ...of, output: of.output * 3_000 })) },
);
/** Of a request: now and then days, as where its usage comes late. */
const durationMs = fc.oneof({ weight: 8, arbitrary: fc.nat({ max: HOUR_MS }) }, fc.nat({ max: 4 * DAY_MS }));

const partOf = (whole: bigint, percent: number | null): MicroUsd | null =>
  percent === null ? null : microUsd((whole * BigInt(percent)) / 100n);

/** Ids of a few, so that some come again. */
const idOf = (name: string, account: RealAccount, isNew: boolean, again: number): string =>
  `${name}${isNew ? account.next() : again % 8}`;
const isNew = fc.constantFrom(true, true, true, true, false);

export const moneyMoves = [
  move(
    10,
    'use',
    {
      ...{ tokens, durationMs, which, lane: fc.constantFrom('standard', 'standard', 'fast') },
      ...{
        billable: fc.constantFrom(true, true, true, true, false),
        hold: fc.option(amount),
        under: fc.nat({ max: 3 }),
      },
      unpriced: fc.constantFrom(false, false, false, true),
    },
    (of, account) => {
      const startedMs = account.nowMs - of.durationMs;
      const keyId = oneOf(account.keysAt(startedMs), of.which);
      if (keyId === undefined || account.wasSuspended(startedMs)) return [];
      const { id, version, hash } = PRICE_CARD;
      const usage = usageOf(account.next() * 16, 0, {
        ...{ tokens: of.tokens, keyId, lane: of.lane === 'fast' ? 'fast' : 'standard', billable: of.billable },
        hold: of.hold === null ? null : microUsd(BigInt(of.hold)),
        unpriced: of.unpriced ? ['service_tier: batch'] : [],
        outcome: of.billable ? 'completed' : 'upstream_interrupted',
        startedAt: new Date(startedMs).toISOString(),
        finishedAt: new Date(account.nowMs).toISOString(),
        rateCard: { id, version, hash },
      });
      const leases = Object.values(account.open.leases).filter((lease) => lease.keyId === null);
      const lease = of.under === 0 ? undefined : oneOf(leases, of.under);
      return [{ type: 'RecordUsage', usage, card: PRICE_CARD, leaseId: lease?.leaseId ?? null }];
    },
  ),
  move(1, 'use late', { tokens, durationMs, which }, (of, account) => {
    const startedMs = account.nowMs - of.durationMs;
    const keyId = oneOf(account.keysAt(startedMs), of.which);
    if (keyId === undefined || account.wasSuspended(startedMs)) return [];
    const { id, version, hash } = PRICE_CARD;
    const instants = {
      startedAt: new Date(startedMs).toISOString(),
      finishedAt: new Date(account.nowMs).toISOString(),
    };
    const usage = usageOf(account.next() * 16, 0, { keyId, ...instants, rateCard: { id, version, hash } });
    const recovered = { ...usage, outcome: 'recovered', source: 'estimated', billable: false } as const;
    const late = { type: 'ReportLateUsage', usage: { ...usage, tokens: of.tokens }, card: PRICE_CARD } as const;
    return [{ type: 'RecordUsage', usage: recovered, card: PRICE_CARD }, late, late];
  }),
  move(2, 'end an exception', { which, approves: fc.boolean(), reason }, (of, account) => {
    const exception = oneOf([...valuesOf(account.open.exceptions.open)], of.which);
    const id = exception?.requestId ?? requestId(`req_${'0'.repeat(32)}`);
    const type = of.approves ? 'ApproveException' : 'DropException';
    return [{ type, requestId: id, reason: of.reason, ...SAID }];
  }),
  move(
    3,
    'grant',
    {
      ...{ amount, isNew, which, priority: fc.nat({ max: 2 }), isFree: fc.boolean() },
      startsInMs: fc.constantFrom(0, 0, DAY_MS),
      lastsMs: fc.option(fc.oneof(fc.nat({ max: 40 * DAY_MS }), fc.nat({ max: 2 * HOUR_MS }))),
    },
    (of, account) => {
      const granted = microUsd(BigInt(of.amount));
      const effectiveAtMs = account.nowMs + of.startsInMs;
      return [
        {
          ...{ type: 'GrantCredits', grantId: grantId(idOf('g', account, of.isNew, of.which)), source: 'purchase' },
          ...{ amount: granted, costBasis: of.isFree ? microUsd(0n) : granted, priority: of.priority, effectiveAtMs },
          expiresAtMs: of.lastsMs === null ? null : effectiveAtMs + of.lastsMs,
        },
      ];
    },
  ),
  move(2, 'expire', { lateMs: fc.constantFrom(0, 2 * HOUR_MS) }, ({ lateMs }, account) => [
    { type: 'ExpireCredits', lateMs, nowMs: account.nowMs },
  ]),
  move(2, 'reinstate', { which, part, lastsMs: fc.option(fc.nat({ max: 9 * DAY_MS }), { freq: 9 }) }, (of, account) => {
    const { grants } = account.open;
    const expired = grants.filter((grant) => grant.expired > 0n);
    const grant = oneOf(expired.length > 0 ? expired : grants, of.which);
    if (grant === undefined) return [];
    const expiresAtMs = of.lastsMs === null ? null : account.nowMs + of.lastsMs;
    const what = { grantId: grant.grantId, amount: partOf(grant.expired, of.part), expiresAtMs, lateMs: 0 };
    return [{ type: 'ReinstateCredits', ...what, reason: 'x', ...SAID, nowMs: account.nowMs }];
  }),
  move(
    2,
    'revoke',
    {
      ...{ which, part, isNew, reason },
      cause: fc.constantFrom('refund', 'dispute', 'fraud', 'administration' as const),
      /** Now and then as what goes back is. */
      name: fc.constantFrom('revocation', 'revocation', 'back'),
    },
    (of, account) => {
      const grant = oneOf(account.open.grants, of.which);
      if (grant === undefined) return [];
      const ids = { revocationId: idOf(of.name, account, of.isNew, of.which), grantId: grant.grantId };
      const amount = partOf(grant.amount, of.part);
      const { cause, reason } = of;
      return [{ type: 'RevokeGrant', ...ids, paymentId: null, amount, cause, reason, ...SAID, nowMs: account.nowMs }];
    },
  ),
  move(2, 'restore', { which, part, isNew, reason }, (of, account) => {
    const revocation = oneOf(account.open.billing.revocations, of.which);
    const restorationId = idOf('restoration', account, of.isNew, of.which);
    const { revocationId, amount, restored } = revocation ?? { revocationId: 'none', amount: 0n, restored: 0n };
    const what = { restorationId, revocationId, amount: partOf(amount - restored, of.part), reason: of.reason };
    return [{ type: 'RestoreGrant', ...what, ...SAID, nowMs: account.nowMs }];
  }),
  move(4, 'reverse', { which, part, isNew, reason }, (of, account) => {
    const id = oneOf(account.debited, of.which) ?? requestId(`req_${'0'.repeat(32)}`);
    const debits = account.moneyOf(id);
    const all = debits.reduce((sum, { type, data }) => sum + (type === 'DebitReversed' ? 0n : data.amount), 0n);
    const reversalId = idOf('reversal', account, of.isNew, of.which);
    const what = { reversalId, requestId: id, debits, amount: partOf(all, of.part), reason: of.reason };
    return [{ type: 'ReverseDebit', ...what, ...SAID, nowMs: account.nowMs }];
  }),
  move(2, 'adjust', { which, isNew, reason, isUp: fc.boolean(), amount }, (of, account) => {
    const ids = { adjustmentId: grantId(idOf('adjustment', account, of.isNew, of.which)) };
    const what = { ...ids, direction: of.isUp ? 'up' : 'down', amount: microUsd(BigInt(of.amount)) } as const;
    return [{ type: 'AdjustBalance', ...what, reason: of.reason, ...SAID, nowMs: account.nowMs }];
  }),
  move(2, 'suspend', { isAsItIs: fc.constantFrom(false, false, true), reason }, ({ isAsItIs, reason }, account) => {
    const lifts = (account.open.suspended === null) === isAsItIs;
    return [{ type: lifts ? 'ReinstateAccount' : 'SuspendAccount', reason }];
  }),
  move(1, 'close months', { which: fc.nat({ max: 5 }), graceMs: fc.constantFrom(0, 0, 3 * DAY_MS) }, closing),
  move(3, 'again', { which }, (of, account) => {
    const repeated = account.tried.filter(({ command }) => command.type in CAN_BE_REPEATED);
    const before = oneOf(repeated, of.which)?.command;
    return before === undefined ? [] : [repeatedNow(before, account)];
  }),
];

/** What auto-reload is for. */
export const spendingMoves = [
  move(9, 'spend much', { which, output: fc.integer({ min: 5_000, max: 60_000 }) }, ({ which, output }, account) => {
    const keyId = oneOf(account.keysAt(account.nowMs), which);
    if (keyId === undefined || account.wasSuspended(account.nowMs)) return [];
    const { id, version, hash } = PRICE_CARD;
    const at = new Date(account.nowMs).toISOString();
    const instants = { startedAt: at, finishedAt: at };
    const usage = usageOf(account.next() * 16, output, { keyId, ...instants, rateCard: { id, version, hash } });
    return [{ type: 'RecordUsage', usage, card: PRICE_CARD }];
  }),
];

/** As the gateway does it, month by month, and requests whose usage comes weeks late. */
export const monthMoves = [
  move(12, 'close the month', {}, function* (_, account) {
    yield { type: 'ExpireCredits', lateMs: 0, nowMs: account.nowMs };
    yield* closing({ which: 9, graceMs: 0 }, account);
  }),
  move(
    8,
    'use weeks late',
    { which, output: fc.integer({ min: 1, max: 30 }), days: fc.nat({ max: 40 }) },
    (of, account) => {
      const startedMs = account.nowMs - of.days * DAY_MS;
      const keyId = oneOf(account.keysAt(startedMs), of.which);
      if (keyId === undefined || account.wasSuspended(startedMs)) return [];
      const { id, version, hash } = PRICE_CARD;
      const instants = {
        startedAt: new Date(startedMs).toISOString(),
        finishedAt: new Date(startedMs + 1).toISOString(),
      };
      const usage = usageOf(account.next() * 16, of.output, { keyId, ...instants, rateCard: { id, version, hash } });
      return [{ type: 'RecordUsage', usage, card: PRICE_CARD }];
    },
  ),
  move(
    6,
    'pay, and be told of it late',
    { hours: fc.nat({ max: 200 }), percent: fc.integer({ min: -5, max: 105 }), isClosed: fc.boolean() },
    function* ({ hours, percent, isClosed }, account) {
      const { nowMs: startedMs } = account;
      const what = { attemptId: attemptId(`late${account.next()}`), provider: 'stripe' };
      const credits = microUsd(100n);
      yield { type: 'StartPurchase', ...what, amount: credits, price: credits, by: 'owner', nowMs: startedMs };
      account.nowMs += hours * HOUR_MS;
      if (isClosed) yield* closing({ which: 9, graceMs: 0 }, account);
      const paidAtMs = startedMs + (percent * hours * HOUR_MS) / 100;
      const paid = { paymentId: paymentId(`pi_${what.attemptId}`), amount: credits, paidAtMs };
      yield { type: 'RecordPayment', ...what, ...paid, nowMs: account.nowMs };
    },
  ),
];

/** The months that are over, as far as they can be closed; now and then one that is not, or is closed already. */
function closing({ which, graceMs }: { which: number; graceMs: number }, account: RealAccount): AccountCommand[] {
  const { months, nowMs, life } = account;
  const due = months.firstUpTo(lastMonthOver(nowMs), null);
  const other = which === 0 ? lastMonthOver(nowMs + 31 * DAY_MS) : which === 1 ? (months.lastClosed ?? null) : null;
  const month = other ?? due;
  if (month === null) return [];
  const { firstRevision, sums, later } = months.sumsOf(month);
  const revisions = { firstRevision: firstRevision ?? 0, lastRevision: life.length - 1 };
  const counted = sums as CommandOf<'CloseStatement'>['sums'];
  return [{ type: 'CloseStatement', month, sums: counted, later, ...revisions, graceMs, nowMs }];
}

/** Whoever gives one of these gives it an id, or says how things are to be. */
const CAN_BE_REPEATED = {
  ...{ GrantCredits: 1, RevokeGrant: 1, RestoreGrant: 1, ReverseDebit: 1, AdjustBalance: 1, SetSpendLimit: 1 },
  ...{ StartPurchase: 1, RecordPayment: 1, RecordPaymentFailure: 1, RequirePaymentAction: 1, AbandonPayment: 1 },
  EndPurchase: 1,
  ...{ SavePaymentMethod: 1, RemovePaymentMethod: 1, RecordRefund: 1, RecordDispute: 1, CloseDispute: 1 },
  WithdrawRefund: 1,
  ...{ ConfigureAutoReload: 1, AddMember: 1, ChangeMemberRole: 1, IssueKey: 1, ReportLateUsage: 1 },
} satisfies Partial<Record<AccountCommand['type'], 1>>;

function repeatedNow(command: AccountCommand, account: RealAccount): AccountCommand {
  const { nowMs } = account;
  if (command.type === 'ReverseDebit') return { ...command, debits: account.moneyOf(command.requestId), nowMs };
  return 'nowMs' in command ? { ...command, nowMs } : command;
}

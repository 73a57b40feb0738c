import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { recordOf } from '../../../ledger/account/keyed-tree.ts';
import { usageOf } from '../../fixtures/ledger/example-account.ts';
import { PRICE_CARD } from '../../fixtures/ledger/random-life.ts';
import { type Commands, histories, lived, monthlyHistories, monthlyPlanHistories } from '../model/histories.ts';
import type { RealAccount } from '../model/real-account.ts';
import { eachEvent, inAnyHistory, movedBy, TURNS, turnsOf } from './in-any-history.ts';

const HOUR_MS = 3_600_000;

/** Over many months, without plans and with them. */
function inMonths(check: (account: RealAccount) => void): void {
  for (const months of [monthlyHistories, monthlyPlanHistories]) inAnyHistory(100, check, months);
}

describe('in any history', () => {
  it('invariant 15: expiry: a grant pays until the last millisecond before its end, and what it has then expires once', () => {
    const lastsMs = fc.integer({ min: 2, max: 90 * 24 * HOUR_MS });
    fc.assert(
      fc.property(
        histories,
        lastsMs,
        fc.nat({ max: 2_000 }),
        fc.nat({ max: HOUR_MS }),
        (commands: Commands, ms, used, late) => {
          const endMs = { value: 0 };
          // Before all others, and of an account that owes nothing.
          const withGrant = (): RealAccount => {
            const account = lived(commands);
            const { nowMs } = account;
            endMs.value = nowMs + ms;
            account.carryOut(
              grantOf('filling', account.open.uncovered + 1n, { priority: 9, nowMs, expiresAtMs: null }),
            );
            account.carryOut(grantOf('ending', 1_000n, { priority: -1, nowMs, expiresAtMs: endMs.value }));
            return account;
          };
          const paidBy = (startMs: number, finishMs: number, account = withGrant()): bigint => {
            const { decision } = account.carryOut(requestOf(account, used, startMs, finishMs));
            const debit = 'type' in decision ? undefined : decision.find(({ type }) => type === 'CreditsDebited');
            if (debit?.type !== 'CreditsDebited') return 0n;
            const { uncovered, amount, grants } = debit.data;
            if (uncovered === amount) return 0n;
            return grants.find((share) => share.grantId === 'ending')?.amount ?? 0n;
          };
          const account = withGrant();
          const { value: end } = endMs;
          const without = account.open.grants.filter((grant) => grant.grantId !== 'ending');
          expect(usableCredits(account.open.grants, end - 1) - usableCredits(without, end - 1)).toBe(1_000n);
          expect(usableCredits(account.open.grants, end)).toBe(usableCredits(without, end));
          const most = paidBy(end - 1, end - 1);
          expect(paidBy(end, end + late)).toBe(0n);
          // Usage that comes late pays by what was there when it started, until that is written down as expired.
          expect(paidBy(end - 1, end + late)).toBe(most);
          const taken = paidBy(end - 1, end + late, account);
          account.nowMs = end + late + 1;
          const expire = { type: 'ExpireCredits', lateMs: 0, nowMs: account.nowMs } as const;
          const expired = expiredIn(account.carryOut(expire).decision).filter((one) => one.grantId === 'ending');
          expect(expired.map(({ amount }) => amount)).toEqual(taken === 1_000n ? [] : [1_000n - taken]);
          expect(expiredIn(account.carryOut(expire).decision)).toEqual([]);
          expect(paidBy(end - 1, end + late, account)).toBe(0n);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('invariant 16: months: each movement is in one statement, of its own month where that is open, and closing is the next opening', () => {
    let several = 0;
    let paidBefore = 0;
    const closedOfPlans: string[] = [];
    inMonths(({ life, events }) => {
      const facts = factMonths(life);
      for (const [at, { event, atMs }] of life.entries())
        if (isPaidBy(life[at - 1]?.event, event) && (facts[at] ?? '') < monthOf(atMs)) paidBefore += 1;
      const countedBy = new Map<number, string>();
      let [closing, lastMonth] = [0n, ''];
      for (const { event } of life) {
        if (event.type !== 'StatementClosed') continue;
        const { month, opening, lastRevision } = event.data;
        expect(opening).toBe(closing);
        expect(month > lastMonth).toBe(true);
        let net = 0n;
        for (const [revision, one] of life.slice(0, lastRevision + 1).entries()) {
          if (movedBy(one.event) === 0n || (facts[revision] ?? '') > month || countedBy.has(revision)) continue;
          countedBy.set(revision, month);
          net += movedBy(one.event);
        }
        expect(event.data.closing).toBe(closing + net);
        expect(netOf(event.data)).toBe(net);
        several += lastMonth === '' ? 0 : 1;
        [closing, lastMonth] = [event.data.closing, month];
      }
      const closed = events.findLastIndex(({ type }) => type === 'StatementClosed');
      closedOfPlans.push(...turnsOf({ events: events.slice(0, closed + 1) }));
    });
    expect(several).toBeGreaterThan(20);
    expect(paidBefore).toBeGreaterThan(5);
    // Closed behind each of them.
    expect([...new Set(closedOfPlans)].toSorted()).toEqual(TURNS);
    expect(closedOfPlans.filter((turn) => turn === 'renewal').length).toBeGreaterThan(100);
  });

  it('invariant 17: late usage: what comes after its month was closed is in the next statement, and changes no closed one', () => {
    let late = 0;
    inMonths(({ life }) => {
      const statements = life.flatMap(({ event }, at) =>
        event.type === 'StatementClosed' ? [{ ...event.data, at }] : [],
      );
      const facts = factMonths(life);
      for (const [revision, one] of life.entries()) {
        if (one.event.type !== 'CreditsDebited' || movedBy(one.event) === 0n) continue;
        const closedBefore = statements.filter(({ at }) => at < revision);
        if (!closedBefore.some(({ month }) => month >= (facts[revision] ?? ''))) continue;
        const next = statements.find(({ at }) => at > revision);
        if (next === undefined) continue;
        late += 1;
        // What else the next one counts, it counts; without this it would not be what it says.
        const before = closedBefore.at(-1);
        const others = life
          .slice(0, next.lastRevision + 1)
          .filter((other, at) => other !== one && isUpTo(next, facts[at]) && !isIn(before, facts[at], at));
        const net = others.reduce((sum, { event }) => sum + movedBy(event), 0n);
        expect(next.closing - next.opening).toBe(net + movedBy(one.event));
      }
    });
    expect(late).toBeGreaterThan(5);
  });

  it('invariant 18: limits: what is spent is the sum of the net debits of the month of their starts, and no event begins it anew', () => {
    let ofMembers = 0;
    let behindLimits = 0;
    inAnyHistory(400, (account) => {
      const spent = new Map<string, bigint>();
      const limits = new Map<string, string>();
      const owners = new Map<string, string>();
      const told = new Set<string>();
      const spentIn = (scope: string, kind: string, month: string): bigint => {
        const keys = [...owners].flatMap(([key, owner]) => (owner === scope ? [`${month} ${key}`] : []));
        const scopes = kind === 'member' ? keys : [kind === 'account' ? month : `${month} ${scope}`];
        return scopes.reduce((sum, one) => sum + (spent.get(one) ?? 0n), 0n);
      };
      // What was reached already of a limit that was set: it is told next.
      let toTell: string[] = [];
      for (const { event, after, atMs } of eachEvent(account)) {
        const { type, data } = event;
        if (type !== 'SpendThresholdCrossed') {
          for (const one of toTell) expect(told).toContain(one);
          behindLimits += toTell.length;
          toTell = [];
        }
        if (type === 'CreditsDebited' || type === 'ExceptionApproved' || type === 'DebitReversed') {
          const amount = type === 'DebitReversed' ? -data.amount : data.amount;
          for (const scope of [data.month, `${data.month} ${data.keyId}`])
            spent.set(scope, (spent.get(scope) ?? 0n) + amount);
          expect(data.monthToDateAfter).toBe(spent.get(data.month));
          expect(data.keyMonthToDateAfter).toBe(spent.get(`${data.month} ${data.keyId}`));
        }
        if (type === 'ApiKeyIssued') owners.set(data.keyId, (data.member ?? after.email).toLowerCase());
        if (type === 'ApiKeyIssued' && data.monthlyLimit !== null) limits.set(data.keyId, `hard ${data.monthlyLimit}`);
        if (type === 'SpendLimitSet') {
          if (data.limit === null) limits.delete(whose(data));
          else limits.set(whose(data), `${data.mode} ${data.limit}`);
          const month = new Date(atMs).toISOString().slice(0, 7);
          const [{ limit, thresholdsPercent }, of] = [data, spentIn(whose(data), data.scope, month)];
          if (limit !== null && of > 0n)
            toTell = thresholdsPercent.flatMap((percent) =>
              of * 100n >= limit * BigInt(percent) ? [`${whose(data)} ${month} ${percent}`] : [],
            );
        }
        if (type === 'SpendThresholdCrossed') {
          const { month, thresholdPercent, limit } = data;
          const scope = whose(data);
          expect(told).not.toContain(`${scope} ${month} ${thresholdPercent}`);
          told.add(`${scope} ${month} ${thresholdPercent}`);
          expect(limits.get(scope)).toMatch(new RegExp(` ${limit}$`));
          const of = spentIn(scope, data.scope, month);
          expect(data.spent).toBe(of);
          expect(of * 100n >= limit * BigInt(thresholdPercent)).toBe(true);
          ofMembers += data.scope === 'member' ? 1 : 0;
        }
        const { months } = after.spend;
        expect(limitsIn(after)).toEqual(limits);
        for (const [month, { account: ofAccount }] of Object.entries(months)) expect(ofAccount).toBe(spent.get(month));
      }
      for (const { event } of account.life)
        if (event.type === 'UsageRecorded')
          for (const { event: other } of account.life)
            if (other.type === 'CreditsDebited' && other.data.requestId === event.data.requestId)
              expect(other.data.month).toBe(event.data.startedAt.slice(0, 7));
    });
    expect(ofMembers).toBeGreaterThan(0);
    expect(behindLimits).toBeGreaterThan(0);
  });
});

function grantOf(id: string, amount: bigint, of: { priority: number; nowMs: number; expiresAtMs: number | null }) {
  const { priority, nowMs: effectiveAtMs, expiresAtMs } = of;
  const what = { grantId: grantId(id), source: 'purchase', amount: microUsd(amount), costBasis: microUsd(0n) } as const;
  return { type: 'GrantCredits', ...what, priority, effectiveAtMs, expiresAtMs } as const;
}

function requestOf(account: RealAccount, output: number, startMs: number, finishMs: number) {
  const { id, version, hash } = PRICE_CARD;
  const usage = usageOf(account.next() * 16, output, {
    startedAt: new Date(startMs).toISOString(),
    finishedAt: new Date(finishMs).toISOString(),
    rateCard: { id, version, hash },
  });
  return { type: 'RecordUsage', usage, card: PRICE_CARD } as const;
}

const expiredIn = (decision: readonly AccountEvent[] | { readonly type: 'refused' }): EventData<'CreditsExpired'>[] =>
  'type' in decision ? [] : decision.flatMap(({ type, data }) => (type === 'CreditsExpired' ? [data] : []));

type Life = RealAccount['life'];

/** Of each event the month of what it tells: never a later one than that in which it was written down. */
const factMonths = (life: Life): string[] =>
  life.map(({ event, atMs }, at) => {
    const [recorded, fact] = [monthOf(atMs), factOf(event, life.slice(0, at))];
    return fact !== null && fact < recorded ? fact : recorded;
  });

/** What is paid is paid once it was asked for, whatever its provider's clock says. */
function factOf(event: AccountEvent, before: Life): string | null {
  const { type, data } = event;
  const paid = before.at(-1)?.event;
  if (type === 'CreditsDebited' || type === 'ExceptionApproved') return data.month;
  if (type === 'CreditsExpired') return data.expiredAt.slice(0, 7);
  if (type !== 'CreditsGranted') return null;
  if (!isPaidBy(paid, event)) return data.effectiveAt.slice(0, 7);
  const { attemptId, paidAt } = paid.data;
  const begun = before.map((one) => one.event.data as { readonly attemptId?: string; readonly startedAt?: string });
  const asked = begun.find((one) => one.attemptId === attemptId && one.startedAt !== undefined)?.startedAt ?? '';
  return (paidAt < asked ? asked : paidAt).slice(0, 7);
}

const isPaidBy = (
  paid: AccountEvent | undefined,
  { type, data }: AccountEvent,
): paid is Extract<AccountEvent, { readonly type: 'PaymentSucceeded' }> =>
  paid?.type === 'PaymentSucceeded' && type === 'CreditsGranted' && data.grantId === `payment_${paid.data.paymentId}`;

const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

const isUpTo = ({ month }: { readonly month: string }, fact = ''): boolean => fact <= month;

const isIn = (
  statement: { readonly month: string; readonly lastRevision: number } | undefined,
  fact: string | undefined,
  revision: number,
): boolean => statement !== undefined && revision <= statement.lastRevision && isUpTo(statement, fact);

const netOf = (of: EventData<'StatementClosed'>): bigint =>
  of.granted +
  of.reinstated +
  of.restored +
  of.reversed +
  of.adjustedUp -
  of.debited -
  of.expired -
  of.revoked -
  of.adjustedDown;

const whose = ({ keyId, member }: EventData<'SpendThresholdCrossed'> | EventData<'SpendLimitSet'>): string =>
  keyId ?? member?.toLowerCase() ?? '';

function limitsIn({ spend: { accountLimit, keyLimits, otherLimits } }: OpenAccount): Map<string, string> {
  const hard = Object.entries({ ...recordOf(keyLimits), ...otherLimits?.members });
  const soft = Object.entries(otherLimits?.soft ?? {});
  return new Map([
    ...(accountLimit === null ? [] : [['', `hard ${accountLimit}`] as const]),
    ...hard.map(([name, limit]) => [name, `hard ${limit}`] as const),
    ...soft.map(([name, limit]) => [name.replace(/^account$|^member:/, ''), `soft ${limit}`] as const),
  ]);
}

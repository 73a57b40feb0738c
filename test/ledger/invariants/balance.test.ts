import { describe, expect, it } from 'vitest';
import type { UsageRecorded } from '../../../contracts/events.ts';
import { revision } from '../../../contracts/ids.ts';
import type { Grant } from '../../../ledger/account/account-state.ts';
import { Bookkeeper } from '../../../ledger/postings/bookkeeper.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { PlainLedger } from '../../fixtures/ledger/plain-ledger.ts';
import { PRICE } from '../../fixtures/ledger/random-life.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';
import { wholeText } from '../../fixtures/ledger/whole-account.ts';
import { fleetHistories, planHistories } from '../model/histories.ts';
import { eachEvent, inAnyHistory, movedBy, sum } from './in-any-history.ts';

describe('in any history, at every revision', () => {
  it.each([
    ['with two proxies', fleetHistories],
    ['with plans', planHistories],
  ])(
    'invariant 1: conservation: what was granted and came back, less what went, is what grants hold less what is owed: %s',
    (_name, all) => {
      inAnyHistory(
        100,
        (account) => {
          let balance = 0n;
          for (const { event, after } of eachEvent(account)) {
            balance += movedBy(event);
            expect(after.balance).toBe(balance);
            expect(sum(after.grants.map(({ remaining }) => remaining)) - after.uncovered).toBe(balance);
          }
          const bookkeeper = new Bookkeeper();
          for (const recorded of recordedLife(account.life))
            expect(sum((bookkeeper.book(recorded)?.postings ?? []).map(({ microUsd }) => microUsd))).toBe(0n);
        },
        all,
      );
    },
  );

  // A part below one micro-USD is carried to the next debit, and a hold may leave a part out (What holds, 3).
  it('invariant 2: debits: each is of one usage, right after it, and is its shares, and its exact cost with the carry', () => {
    inAnyHistory(150, ({ events }) => {
      const net = new Map<string, bigint>();
      const debited = new Set<string>();
      for (const [at, event] of events.entries()) {
        const [before, next] = [events[at - 1], events[at + 1]];
        if (event.type === 'UsageRecorded') {
          const costs = event.data.billable && Object.values(event.data.tokens).some((count) => count > 0);
          expect(next?.type === 'CreditsDebited' && next.data.requestId === event.data.requestId).toBe(costs);
        }
        if (event.type === 'CreditsDebited') {
          const { requestId, amount, leftOut, lines, cost, carryBefore, carryAfter } = event.data;
          expect(before?.type === 'UsageRecorded' && before.data.requestId).toBe(requestId);
          expect(debited).not.toContain(requestId);
          debited.add(requestId);
          expect(sum(lines.map((line) => line.cost))).toBe(cost);
          expect((amount + leftOut) * 1_000_000n + carryAfter).toBe(carryBefore + cost);
        }
        if (event.type === 'CreditsDebited' || event.type === 'ExceptionApproved') {
          const { requestId, amount, grants, uncovered } = event.data;
          expect(sum(grants.map((share) => share.amount)) + uncovered).toBe(amount);
          net.set(requestId, (net.get(requestId) ?? 0n) + amount);
        }
        if (event.type !== 'DebitReversed') continue;
        const { requestId, amount } = event.data;
        net.set(requestId, (net.get(requestId) ?? 0n) - amount);
        expect((net.get(requestId) ?? -1n) >= 0n).toBe(true);
      }
    });
  });

  // What a request pays with is what it found at its start, then at its end, then what came later (What holds, 17).
  it('invariant 3: grants: each holds from nothing to its amount, and pays nothing that began when it was over', () => {
    inAnyHistory(150, (account) => {
      const started = new Map<string, string>();
      for (const { event, before, after } of eachEvent(account)) {
        for (const { remaining, expired, amount } of after.grants)
          expect(remaining >= 0n && expired >= 0n && remaining + expired <= amount).toBe(true);
        if (event.type === 'UsageRecorded') started.set(event.data.requestId, event.data.startedAt);
        if (event.type !== 'CreditsDebited') continue;
        const startMs = Date.parse(started.get(event.data.requestId) ?? '');
        for (const { grantId, amount } of event.data.grants) {
          const grant = before.grants.find((one) => one.grantId === grantId);
          expect(grant !== undefined && amount <= grant.remaining).toBe(true);
          expect(grant?.expiresAtMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(startMs);
        }
      }
    });
  });

  // What is over is nobody's to spend, written off or not; all else pays what is owed, whenever it begins (What holds, 17).
  it.each([
    ['with two proxies', fleetHistories],
    ['with plans', planHistories],
  ])('invariant 3: grants: nothing is owed while any holds what can be spent, or could be later: %s', (_name, all) => {
    let paidAtOnce = 0;
    inAnyHistory(
      150,
      (account) => {
        for (const { event, after, atMs } of eachEvent(account)) {
          if (after.uncovered > 0n)
            for (const { remaining, expiresAtMs } of after.grants)
              expect(remaining === 0n || (expiresAtMs ?? Number.POSITIVE_INFINITY) <= atMs).toBe(true);
          if ('setOff' in event.data && event.data.setOff.length > 0) paidAtOnce += 1;
        }
      },
      all,
    );
    expect(paidAtOnce).toBeGreaterThan(0);
  });

  it('invariant 3: grants: none holds more than it gave less what is revoked of it, but for what had expired', () => {
    inAnyHistory(150, (account) => {
      const isOver = new Set<string>();
      for (const { event, before, after, atMs } of eachEvent(account)) {
        if (event.type === 'CreditsExpired') isOver.add(event.data.grantId);
        if (event.type === 'GrantRevoked') {
          const { grantId } = event.data;
          const endMs = before.grants.find((one) => one.grantId === grantId)?.expiresAtMs ?? Number.POSITIVE_INFINITY;
          if (endMs <= atMs) isOver.add(grantId);
        }
        const revoked = new Map<string, bigint>();
        for (const { grantId, amount, restored } of after.billing.revocations)
          revoked.set(grantId, (revoked.get(grantId) ?? 0n) + amount - restored);
        for (const { grantId, amount, remaining, expired } of after.grants) {
          const gone = revoked.get(grantId) ?? 0n;
          expect(gone <= amount && (isOver.has(grantId) || remaining + expired + gone <= amount)).toBe(true);
        }
      }
    });
  });

  it('invariant 4: burn order: nothing is taken from a grant while one that burns before it has something left', () => {
    let inSecond = 0;
    inAnyHistory(250, (account) => {
      let usage: UsageRecorded | null = null;
      for (const { event, before, atMs } of eachEvent(account)) {
        if (event.type === 'UsageRecorded') usage = event.data;
        const isDown = event.type === 'BalanceAdjusted' && event.data.direction === 'down';
        if (event.type !== 'CreditsDebited' && !isDown) continue;
        const instants = isDown || usage === null ? { startMs: atMs, endMs: atMs } : instantsOf(usage);
        const shares = event.type === 'CreditsDebited' ? event.data.grants : isDown ? event.data.shares : [];
        const taken = new Map(shares.map(({ grantId, amount }) => [grantId, amount]));
        const order = before.grants
          .map((grant) => ({ grant, key: burnKey(grant, instants, isDown) }))
          .filter(({ key }) => key !== null)
          .toSorted((a, b) => ((a.key ?? '') < (b.key ?? '') ? -1 : 1));
        let isEmptySoFar = true;
        for (const { grant } of order) {
          const amount = taken.get(grant.grantId) ?? 0n;
          if (amount > 0n) expect(isEmptySoFar).toBe(true);
          if (amount < grant.remaining) isEmptySoFar = false;
          taken.delete(grant.grantId);
        }
        expect(taken.size).toBe(0);
        inSecond += shares.length > 1 ? 1 : 0;
      }
    });
    expect(inSecond).toBeGreaterThan(10);
  });

  it('invariant 5: balances: each that is said follows from the one before, and is the projection’s at the same revision', () => {
    inAnyHistory(60, (account) => {
      const views = new AccountViews();
      for (const [at, { event }] of account.life.slice(0, 1).entries()) views.fold(ACCOUNT, revision(at), event);
      for (const { event, before, after, revision: at } of eachEvent(account)) {
        if ('balanceAfter' in event.data) expect(event.data.balanceAfter).toBe(before.balance + movedBy(event));
        views.fold(ACCOUNT, revision(at), event);
        const { state } = views.balance.read(ACCOUNT);
        if (state.type === 'unopened') throw new Error('it is open');
        expect(wholeText(state)).toBe(wholeText(after));
      }
    });
  });

  // Rounding is not half a unit at each request: what is below a micro-USD is carried, for ever (What holds, 3).
  it('invariant 11: rating: re-rated at the card that it names each usage costs the same, and debits are less than a micro-USD behind', () => {
    inAnyHistory(150, (account) => {
      const plain = new PlainLedger(PRICE);
      for (const { event } of account.life) {
        plain.take(event);
        expect(plain.behind >= 0n && plain.behind < 1_000_000n).toBe(true);
      }
      const { carry, uncovered, grants } = account.open;
      expect([carry, uncovered]).toEqual([plain.behind, plain.uncovered]);
      expect(new Map(grants.map((grant) => [grant.grantId as string, grant.remaining]))).toEqual(plain.remaining);
    });
  });
});

const instantsOf = ({ startedAt, finishedAt }: UsageRecorded) => ({
  ...{ startMs: Date.parse(startedAt), endMs: Date.parse(finishedAt) },
});

/** A text that sorts as grants burn; null where the grant cannot pay. */
function burnKey(
  { priority, expiresAtMs, costBasis, effectiveAtMs, grantId }: Grant,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  isNow: boolean,
): string | null {
  const untilMs = expiresAtMs ?? 9e15;
  const isAt = (ms: number): boolean => effectiveAtMs <= ms && ms < untilMs;
  const turn = isAt(startMs) ? 1 : isNow ? null : isAt(endMs) ? 2 : effectiveAtMs > startMs ? 3 : null;
  if (turn === null) return null;
  const places = [turn, priority, untilMs, costBasis === 0n ? 0 : 1, effectiveAtMs];
  return `${places.map((place) => String(place).padStart(17, '0')).join()} ${grantId}`;
}

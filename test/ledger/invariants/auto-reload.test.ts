import { expect, it } from 'vitest';
import { entriesOf } from '../../../ledger/account/keyed-tree.ts';
import { ofWholeText, wholeText } from '../../fixtures/ledger/whole-account.ts';
import { payingHistories, planHistories } from '../model/histories.ts';
import { eachEvent, inAnyHistory, sum } from './in-any-history.ts';

const HOUR_MS = 3_600_000;

interface Begun {
  readonly amount: bigint;
  readonly price: bigint;
  readonly month: string;
  readonly startedAt: string;
  readonly provider: string;
  /** The saved one that is charged; or another, where that is said to be declined. */
  card: string | null;
  readonly isReload: boolean;
  isOpen: boolean;
  /** And not paid after all. */
  isDeclined: boolean;
  /** Neither failed nor given up, or paid all the same. */
  counts: boolean;
}

/** What its card has said no to in 30 days. */
const ofMonthOf = ({ card }: Begun, attempts: ReadonlyMap<string, Begun>, atMs: number): number =>
  [...attempts.values()].filter(
    (one) =>
      card !== null && one.card === card && one.isDeclined && Date.parse(one.startedAt) > atMs - 30 * 24 * HOUR_MS,
  ).length;

// The cap binds what is begun: money that comes after an attempt was given up is never lost.
it('invariant 19: auto-reload: one attempt at a time, what is pending counted, within the cap; a grant for each payment; declines bounded', () => {
  let [started, ofOther, tired, longest] = [0, 0, 0, 0];
  inAnyHistory(
    250,
    (account) => {
      const attempts = new Map<string, Begun>();
      const paid = new Map<string, bigint>();
      const granted = new Map<string, bigint>();
      let terms = { cap: 0n, target: 0n, threshold: 0n, consentedAt: null as string | null };
      let [declines, vain, notBeforeMs, isPaused, isOver, inARow] = [0, 0, 0, false, false, 0];
      for (const { event, atMs, before } of eachEvent(account)) {
        const { type, data } = event;
        const attempt = 'attemptId' in data ? attempts.get(data.attemptId) : undefined;
        if (type === 'AutoReloadConfigured') terms = { ...data, cap: data.monthlyCap };
        if (type === 'AutoReloadConfigured' || type === 'PaymentMethodSaved')
          [declines, vain, notBeforeMs, isPaused, isOver] = [0, 0, 0, false, false];
        if (type === 'AutoReloadPaused') isPaused = true;
        if (type === 'PurchaseStarted' || type === 'AutoReloadStarted') {
          const isReload = type === 'AutoReloadStarted';
          const { method } = before.billing.payments;
          const month = data.startedAt.slice(0, 7);
          expect(attempt).toBeUndefined();
          const reloads = [...attempts.values()].filter((one) => one.isReload);
          if (isReload) {
            started += 1;
            expect(reloads.filter(({ isOpen }) => isOpen)).toEqual([]);
            const ofMonth = sum(reloads.filter((one) => one.counts && one.month === month).map(({ price }) => price));
            expect(data.monthTotal).toBe(ofMonth);
            expect(ofMonth + data.price <= terms.cap).toBe(true);
            const usable = before.grants.filter(
              ({ effectiveAtMs, expiresAtMs }) => effectiveAtMs <= atMs && (expiresAtMs === null || expiresAtMs > atMs),
            );
            const available = sum(usable.map(({ remaining }) => remaining)) - before.uncovered;
            expect(available <= terms.threshold).toBe(true);
            expect(available + data.amount >= terms.target && available + data.amount < terms.target + 10_000n).toBe(
              true,
            );
            expect([isPaused, isOver, atMs >= notBeforeMs]).toEqual([false, false, true]);
          }
          attempts.set(data.attemptId, {
            amount: data.amount,
            price: data.price,
            month,
            startedAt: data.startedAt,
            provider: data.provider,
            card: isReload && method?.provider === data.provider ? method.paymentMethodId : null,
            isReload,
            isOpen: true,
            isDeclined: false,
            counts: true,
          });
        }
        if (type === 'PaymentFailed' || type === 'PaymentAbandoned') {
          expect(attempt?.isOpen).toBe(true);
          if (attempt !== undefined)
            Object.assign(attempt, { isOpen: false, counts: false, isDeclined: type === 'PaymentFailed' });
          const other = type === 'PaymentFailed' ? data.declinedMethodId : undefined;
          if (attempt !== undefined && other !== undefined) attempt.card = other;
          const isSaved = before.billing.payments.method !== null;
          if (attempt?.isReload === true) inARow = other !== undefined && isSaved ? inARow + 1 : 0;
          expect(inARow).toBeLessThan(9);
          longest = Math.max(longest, inARow);
        }
        // One that was given up counts as long as its terms stand.
        const isOfTerms = terms.consentedAt !== null && (attempt?.startedAt ?? '') >= terms.consentedAt;
        const isInVain = type === 'PaymentFailed' || (type === 'PaymentAbandoned' && isOfTerms);
        const saved = before.billing.payments.method?.paymentMethodId;
        const isOfOther = saved !== undefined && attempt?.card != null && attempt.card !== saved;
        if (type === 'PaymentFailed' && attempt?.isReload === true && isOfOther) {
          // Of the one that is saved by now it says nothing.
          expect(data.nextAttemptAt).toBe(data.failedAt);
          notBeforeMs = 0;
          ofOther += 1;
        } else if (isInVain && attempt?.isReload === true) {
          vain += 1;
          // The fourth no in a row is the last, and one that is final; what nobody has declined, as its provider was away, or refused, is none.
          const isByOperator =
            type === 'PaymentAbandoned' && (attempt.provider === 'manual' || data.endedBy === 'operator');
          const isNo = type === 'PaymentFailed' || (isByOperator && !isOfOther);
          if (isNo) declines += 1;
          const isTired = type === 'PaymentFailed' && ofMonthOf(attempt, attempts, atMs) > 14;
          if (isTired && declines < 4) tired += 1;
          isOver = isNo && (declines > 3 || isTired || (type === 'PaymentFailed' && data.isTerminal));
          notBeforeMs = isOver ? 0 : atMs + HOUR_MS * Math.min(4, 2 ** (vain - 1));
          if (type === 'PaymentFailed')
            expect(data.nextAttemptAt).toBe(isOver ? null : new Date(notBeforeMs).toISOString());
        }
        if (type === 'PaymentSucceeded') {
          expect(paid.has(data.paymentId)).toBe(false);
          expect(data.amount).toBe(attempt?.price);
          paid.set(data.paymentId, attempt?.amount ?? 0n);
          if (attempt !== undefined) Object.assign(attempt, { isOpen: false, counts: true, isDeclined: false });
          if (attempt?.isReload === true) [declines, vain, notBeforeMs, isOver, inARow] = [0, 0, 0, false, 0];
        }
        if (type === 'CreditsGranted' && data.grantId.startsWith('payment_'))
          granted.set(data.grantId.slice(8), data.amount);
      }
      expect(granted).toEqual(paid);
      const { payments } = account.open.billing;
      const ids = [...attempts].flatMap(([id, { isOpen }]) => (isOpen ? [id] : []));
      expect([...entriesOf(payments.open)].map(([id]) => id)).toEqual(ids.toSorted());
      const counted = [...attempts.values()].filter((one) => one.isReload && one.counts);
      const byMonth = Object.groupBy(counted, ({ month }) => month);
      expect([...entriesOf(payments.reloaded)]).toEqual(
        Object.entries(byMonth)
          .toSorted()
          .map(([month, ofMonth = []]) => [month, sum(ofMonth.map(({ price }) => price))]),
      );
      expect(ofWholeText(wholeText(account.open)).billing).toStrictEqual(account.open.billing);
    },
    payingHistories,
  );
  expect(started).toBeGreaterThan(50);
  expect(ofOther).toBeGreaterThan(0);
  expect(tired).toBeGreaterThan(0);
  expect(longest).toBeGreaterThan(3);
});

interface Claimed {
  readonly kind: 'renewal' | 'upgrade';
  readonly start: string;
  readonly credits: bigint;
  /** `bought`: paid when another was begun in its place. */
  state: 'open' | 'over' | 'paid' | 'bought';
}

it('invariant 19: renewals: one attempt at a time, none for a period that is paid, and what is paid is granted in the same append, once', () => {
  let paid = 0;
  inAnyHistory(
    250,
    ({ life }) => {
      /** By attempt; of the plan's periods alone. */
      const claims = new Map<string, Claimed>();
      // A plan that begins anew has periods of its own.
      let inForce = new Set<string>();
      for (const [at, { event }] of life.entries()) {
        const { type, data } = event;
        if (type === 'PlanEnded') inForce = new Set();
        if (type === 'RenewalStarted') {
          const { attemptId, kind, periodStart: start, credits, price } = data;
          const others = [...inForce].map((id) => claims.get(id)).filter((one) => one?.start === start);
          expect(claims.has(attemptId)).toBe(false);
          if (kind === 'renewal') {
            const isOpen = ({ state, kind: its }: Claimed): boolean => state === 'open' && its === 'renewal';
            expect([...claims.values()].filter(isOpen)).toEqual([]);
            expect(others.filter((one) => one?.state === 'paid' && one.kind === 'renewal')).toEqual([]);
          }
          claims.set(attemptId, { kind, start, credits, state: price === 0n ? 'paid' : 'open' });
          inForce.add(attemptId);
          if (price === 0n)
            expect(life[at + 1]?.event).toMatchObject({ type: 'CreditsGranted', data: { amount: credits } });
        }
        const claim = 'attemptId' in data ? claims.get(data.attemptId) : undefined;
        if (claim === undefined) continue;
        if (type === 'PaymentFailed' || type === 'PaymentAbandoned') claim.state = 'over';
        if (type !== 'PaymentSucceeded') continue;
        expect(['open', 'over']).toContain(claim.state);
        const next = life[at + 1]?.event;
        claim.state = next?.type === 'CreditsGranted' && next.data.source === 'purchase' ? 'bought' : 'paid';
        paid += 1;
        const granted = { grantId: `payment_${data.paymentId}`, amount: claim.credits, costBasis: data.amount };
        expect(next).toMatchObject({ type: 'CreditsGranted', data: granted });
      }
    },
    planHistories,
  );
  expect(paid).toBeGreaterThan(30);
});

import { describe, expect, it } from 'vitest';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { isWithdrawn } from '../../../ledger/account/method-for.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import { overdraftOf } from '../../../ledger/account/plan-over.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { grant, granted, ms, openAccount, usd } from '../../fixtures/ledger/example-account.ts';
import { catalogOf, STARTER, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { AT, asks, catalog, DAY, END, type Life, life, looks, onStarter } from './plan-life.ts';

describe('another plan', () => {
  const MID = '2026-12-15T10:00:00.000Z';

  it('that is dearer and gives more is in force once its difference for the rest of the period is paid', () => {
    const one = onStarter().does(asks('team', MID));
    expect(one.claims[1]).toMatchObject({
      ...{ attemptId: `upgrade_${MID}`, kind: 'upgrade', plan: 'team', price: 90_000_000n, credits: 117_500_000n },
      ...{ periodStart: MID, periodEnd: END },
    });
    expect([one.state.plan, overdraftOf(one.state, ms(MID))]).toEqual(['starter', 0n]);
    one.pays(MID, 'upgrade');
    expect([one.state.plan, overdraftOf(one.state, ms(MID))]).toEqual(['team', 20_000_000n]);
    expect(one.plan).toMatchObject({ period: { startMs: ms(AT), endMs: ms(END) } });
    expect(one.events.at(-1)).toMatchObject({ data: { source: 'plan', amount: 117_500_000n, expiresAt: END } });
    expect(one.does(looks(END)).claims[2]).toMatchObject({ plan: 'team', price: 200_000_000n });
    expect(one.faults).toEqual([]);
  });

  it('costs and gives no more than the whole difference, by a clock that is behind the period’s beginning', () => {
    const one = onStarter().does(asks('team', new Date(ms(AT) - 5_000).toISOString()));
    expect(one.claims[1]).toMatchObject({ kind: 'upgrade', price: 180_000_000n, credits: 235_000_000n });
    expect(one.faults).toEqual([]);
  });

  it('is refused before it is paid where no debit could name its grant, and given in any case once it is', () => {
    const one = onStarter();
    const filled: AccountEvent[] = [];
    for (const longer of ['g'.repeat(1_990), '']) {
      const more = (): string => `${filled.length}${longer}`;
      while (!('type' in decide(grant(more(), 5), openAccount(filled, one.state)))) filled.push(granted(more(), 5));
    }
    given(...one.events, ...filled).refuses(asks('team', MID), 'too_many_grants');
    one.does(asks('team', MID)).events.push(...filled);
    one.pays(MID, 'upgrade');
    expect([one.state.plan, one.events.at(-1)?.type]).toEqual(['team', 'CreditsGranted']);
  });

  it('whose difference is declined leaves the plan that there is', () => {
    const one = onStarter().does(asks('team', MID)).declined(ms(MID));
    expect(one.state.plan).toBe('starter');
    expect(one.does(looks(END)).claims[2]).toMatchObject({ plan: 'starter', kind: 'renewal' });
  });

  it('asked for after none, or after a cheaper one, is instead of it once it is paid, and not where it is declined', () => {
    const asked = (): Life => onStarter().does(asks('none', MID)).does(asks('team', MID));
    const declined = asked().declined(ms(MID)).does(looks(END));
    expect(declined.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'cancelled' } });
    expect(declined.faults).toEqual([]);
    expect(asked().does(looks(END)).events.at(-1)).toMatchObject({ type: 'PlanEnded' });
    const paid = asked().pays(MID, 'upgrade').does(looks(END));
    expect(paid.claims.at(-1)).toMatchObject({ plan: 'team', kind: 'renewal' });
    expect(paid.faults).toEqual([]);
    const cheaper = life().does(asks('team')).pays(AT).does(asks('starter', MID)).does(asks('big', MID));
    expect(cheaper.declined(ms(MID)).does(looks(END)).claims.at(-1)).toMatchObject({ plan: 'starter' });
    expect(cheaper.faults).toEqual([]);
  });

  it('is not wanted any more where none is asked for after it, and what was asked for last holds though it turns out to be paid', () => {
    const one = onStarter().does(asks('none', MID), asks('team', MID));
    const isGivenUp = (): (boolean | null)[] =>
      openAttempts(one.state.billing.payments).map((attempt) => isWithdrawn(one.state.billing, attempt));
    expect(isGivenUp()).toEqual([false]);
    one.does(asks('none', MID), asks('none', MID));
    expect(one.events.filter(({ type }) => type === 'PlanChanged').length).toBe(4);
    expect(isGivenUp()).toEqual([true]);
    one.pays(MID, 'upgrade').does(looks(END));
    expect(one.state.billing.endedPlan).toMatchObject({ plan: 'starter', reason: 'cancelled' });
    const withdrawn = onStarter().does(asks('team', MID), asks('starter', MID), asks('starter', MID));
    expect(withdrawn.events.filter(({ type }) => type === 'PlanChanged').length).toBe(3);
    withdrawn.pays(MID, 'upgrade');
    expect([withdrawn.state.plan, withdrawn.faults]).toEqual(['starter', []]);
    expect(withdrawn.events.at(-1)).toMatchObject({ data: { source: 'purchase', expiresAt: null } });
    expect(one.faults).toEqual([]);
    const onTeam = life().does(asks('team')).pays(AT);
    const before = onTeam.does(asks('big', MID)).declined(ms(MID)).does(asks('starter', MID));
    const { attemptId: first, provider, price: amount } = before.claims[1] as EventData<'RenewalStarted'>;
    before.does(asks('big', '2026-12-16T10:00:00.000Z'), {
      ...{ type: 'RecordPayment', attemptId: first, provider, paymentId: paymentId('pi_first'), amount },
      ...{ paidAtMs: ms(MID), nowMs: ms('2026-12-17T10:00:00.000Z') },
    });
    before.declined(ms('2026-12-18T10:00:00.000Z')).does(looks(END));
    expect(before.state.plan).toBe('big');
    // It was asked for last, whichever attempt of it is paid.
    expect(before.claims.at(-1)).toMatchObject({ plan: 'big', kind: 'renewal' });
    expect(before.faults).toEqual([]);
  });

  it('asked for before one that is paid is credit as bought, where it turns out to be paid after all', () => {
    const both = (): Life =>
      onStarter().does(asks('team', MID)).declined(ms(MID)).does(asks('big', '2026-12-16T10:00:00.000Z'));
    const { attemptId: first, provider, price: amount } = both().claims[1] as EventData<'RenewalStarted'>;
    const paidLate: AccountCommand = {
      ...{ type: 'RecordPayment', attemptId: first, provider, paymentId: paymentId('pi_first'), amount },
      ...{ paidAtMs: ms(MID), nowMs: ms('2026-12-17T10:00:00.000Z') },
    };
    const one = both().pays('2026-12-16T10:00:00.000Z').does(paidLate);
    expect([one.state.plan, overdraftOf(one.state, ms(MID))]).toEqual(['big', 50_000_000n]);
    expect(one.events.at(-1)).toMatchObject({ data: { source: 'purchase', amount: 117_500_000n, expiresAt: null } });
    expect(one.faults).toEqual([]);
    const inTurn = both().does(paidLate);
    expect(inTurn.state.plan).toBe('starter');
    expect(inTurn.pays('2026-12-17T11:00:00.000Z').state.plan).toBe('big');
    expect(inTurn.faults).toEqual([]);
  });

  it('asked for twice, and both times paid, is in force by the first of them: the other is not wanted, and credit as bought', () => {
    const again = '2026-12-16T10:00:00.000Z';
    const twice = onStarter().does(asks('team', MID)).declined(ms(MID)).does(asks('team', again));
    const { attemptId: first, provider, price: amount } = twice.claims[1] as EventData<'RenewalStarted'>;
    twice.does({
      ...{ type: 'RecordPayment', attemptId: first, provider, paymentId: paymentId('pi_first'), amount },
      ...{ paidAtMs: ms(MID), nowMs: ms(again) },
    });
    expect(twice.events.at(-1)).toMatchObject({ data: { source: 'plan', expiresAt: END } });
    expect(openAttempts(twice.state.billing.payments).map((one) => isWithdrawn(twice.state.billing, one))).toEqual([
      true,
    ]);
    twice.pays(again);
    expect(twice.events.at(-1)).toMatchObject({ data: { source: 'purchase', expiresAt: null } });
    expect([twice.state.plan, twice.faults]).toEqual(['team', []]);
  });

  it('whose difference is less than can be charged is in force as the period ends', () => {
    const near = { ...TEAM, id: 'near', price: usd(27_500_000) };
    const selling = { catalog: catalogOf(STARTER, near) };
    const asked = (daysLeft: number): Life =>
      onStarter().does({
        ...asks('near', new Date(ms(END) - daysLeft * DAY).toISOString()),
        ...selling,
      } as AccountCommand);
    expect(asked(2).claims[1]).toMatchObject({ kind: 'upgrade', price: 500_000n });
    const less = asked(1);
    expect([less.claims.length, less.state.plan, less.plan?.next?.plan]).toEqual([1, 'starter', 'near']);
    less.does({ ...looks(END), ...selling }).pays(END, 'near');
    expect([less.claims.at(-1)?.kind, less.state.plan]).toEqual(['renewal', 'near']);
  });

  it('whose difference nobody has paid as the period ends does not keep the plan from being renewed', () => {
    const one = onStarter().does(asks('team', MID), looks(END));
    expect(one.claims.at(-1)).toMatchObject({ plan: 'starter', kind: 'renewal' });
  });

  it('that is cheaper is renewed in place of the one before, and may be taken back until then', () => {
    const onTeam = (): Life => life().does(asks('team')).pays(AT);
    const one = onTeam().does(asks('starter', MID));
    expect(one.claims.length).toBe(1);
    expect(one.state.plan).toBe('team');
    one.does(looks(END)).pays(END, 'later');
    expect([one.state.plan, one.plan?.next, overdraftOf(one.state, ms(END))]).toEqual(['starter', null, 0n]);
    expect(one.faults).toEqual([]);
    const back = onTeam().does(asks('starter', MID), asks('team', MID), looks(END));
    expect(back.claims.at(-1)).toMatchObject({ plan: 'team' });
  });

  it('is renewed as its own product has it, whatever another product sells by its id', () => {
    const other = { ...STARTER, product: 'other', price: usd(900_000_000) };
    const both = { version: 2, plans: new Map([...catalog.plans, [2, [other]]]) };
    const one = onStarter().does({ ...looks(END), catalog: both });
    expect(one.claims.at(-1)).toMatchObject({ catalogVersion: 1, price: 20_000_000n });
  });

  it('asked for while one is to be paid is what the period is of, once it is begun: what was paid for the other is credit as bought', () => {
    const one = onStarter().does(looks(END)).declined(ms(END), true).does(asks('team', END), asks('team', END));
    one.does({
      ...{ type: 'SavePaymentMethod', provider: 'manual', customerId: 'c', paymentMethodId: 'pm', brand: 'visa' },
      ...{ last4: '4242', consentedAtMs: ms(END), by: 'owner@example.com' },
    });
    one.does(looks(ms(END) + DAY));
    expect(one.claims.map(({ plan }) => plan)).toEqual(['starter', 'starter', 'team']);
    const { attemptId: first, provider, price: amount } = one.claims[1] as EventData<'RenewalStarted'>;
    const paid = { paymentId: paymentId('pi_first'), amount, paidAtMs: ms(END), nowMs: ms(END) + DAY };
    one.does({ type: 'RecordPayment', attemptId: first, provider, ...paid });
    expect(one.events.at(-1)).toMatchObject({ data: { source: 'purchase', expiresAt: null } });
    one.pays('2027-01-01T00:00:00.000Z', 'team');
    expect([one.state.plan, one.plan?.next, one.plan?.due]).toEqual(['team', null, null]);
    expect(one.events.at(-1)).toMatchObject({ data: { source: 'plan', amount: 260_000_000n } });
    expect(one.faults).toEqual([]);
  });

  it('none ends the one there is as its period does, or at once', () => {
    const one = onStarter().does(asks('none', MID));
    given(...one.events).decides(asks('none', MID));
    expect(one.state.plan).toBe('starter');
    one.does(looks(END));
    expect(one.events.at(-1)).toEqual({ type: 'PlanEnded', data: { plan: 'starter', reason: 'cancelled', at: END } });
    expect(one.claims.length).toBe(1);
    const end = { type: 'EndPlan', reason: 'fraud', by: 'grace', nowMs: ms(MID) } as const;
    const now = onStarter().does(end);
    const terms = {
      catalogVersion: null,
      effectiveAt: MID,
      anchorAt: AT,
      periodEnd: END,
      reason: 'fraud',
      by: 'grace',
    };
    expect(now.events.slice(-2)).toEqual([
      { type: 'PlanChanged', data: { plan: 'none', terms } },
      { type: 'PlanEnded', data: { plan: 'starter', reason: 'cancelled', at: MID } },
    ]);
    expect(faultsOf(now.events.slice(0, -1))).toContainEqual(
      expect.stringContaining(`plan starter: is to end at ${MID}, should be ${END}, or at once`),
    );
    expect(now.state).toMatchObject({ plan: 'trial', balance: 25_000_000n });
    given(...now.events).refuses(end, 'plan_not_found');
    expect(now.does(asks('team', MID)).claims.at(-1)).toMatchObject({ periodStart: MID });
    expect(now.faults).toEqual([]);
    const unpaid = life().does(asks('starter'), asks('none'));
    expect(unpaid.events.slice(-2)).toMatchObject([
      {
        type: 'PlanChanged',
        data: { plan: 'none', terms: { effectiveAt: AT, reason: 'as asked for', by: 'operator' } },
      },
      { type: 'PlanEnded', data: { plan: 'starter', reason: 'cancelled', at: AT } },
    ]);
    expect([unpaid.plan, unpaid.faults]).toEqual([null, []]);
  });
});

import { describe, expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { spendable } from '../../../ledger/account/leases.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { grant, ms, opened, record, usageOf, usd } from '../../fixtures/ledger/example-account.ts';
import { catalogOf, STARTER, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { AT, asks, catalog, DAY, END, Life, life, looks, online, onStarter } from './plan-life.ts';

const instant = (atMs: number): string => new Date(atMs).toISOString();
const save = (paymentMethodId: string): AccountCommand => ({
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId, brand: 'visa', last4: '4242' },
  ...{ consentedAtMs: ms(END), by: 'owner@example.com' },
});
const unpaid = (at: string): AccountEvent => ({ type: 'PlanEnded', data: { plan: 'starter', reason: 'unpaid', at } });

describe('a first plan', () => {
  it('is claimed as it is asked for, and in force with its credits once it is paid', () => {
    const asked = life().does(asks('starter'));
    expect(asked.events.slice(2)).toEqual([
      {
        type: 'PlanChanged',
        data: {
          plan: 'starter',
          terms: {
            catalogVersion: 1,
            effectiveAt: AT,
            anchorAt: AT,
            periodEnd: END,
            reason: 'as asked for',
            by: 'operator',
          },
        },
      },
      {
        type: 'RenewalStarted',
        data: {
          ...{ attemptId: `renewal_${AT}`, kind: 'renewal', provider: 'manual', plan: 'starter', catalogVersion: 1 },
          ...{ periodStart: AT, periodEnd: END, price: 20_000_000n, credits: 25_000_000n, overdraft: 0n },
          ...{ graceUntil: '2026-12-07T10:00:00.000Z', startedAt: AT },
        },
      },
    ]);
    expect(asked.state.plan).toBe('trial');
    const paid = asked.pays('2026-12-01T00:00:00.000Z');
    expect(paid.state.plan).toBe('starter');
    expect(paid.events.at(-1)).toMatchObject({
      type: 'CreditsGranted',
      data: { source: 'plan', amount: 25_000_000n, costBasis: 20_000_000n, expiresAt: END },
    });
    expect(paid.plan).toMatchObject({ period: { startMs: ms(AT), endMs: ms(END) }, due: null });
  });

  it('that nobody pays for needs no payment: its credits follow in the same append', () => {
    const free = life().does(asks('open-source'));
    expect(free.events.slice(3).map(({ type }) => type)).toEqual(['RenewalStarted', 'CreditsGranted']);
    expect(free.state).toMatchObject({ plan: 'open-source', balance: 25_000_000n });
    expect(free.state.billing.payments.attempts).toBeNull();
    free.does(looks(END), looks(END));
    expect(free.faults).toEqual([]);
    expect(free.claims.map(({ periodStart }) => periodStart)).toEqual([AT, END]);
  });

  it('that nobody pays for is granted under no id that a grant has, of an operator’s or of the same instant', () => {
    const free = life().does(grant(`renewal_${AT}`, 1), asks('open-source'));
    free.does({ type: 'EndPlan', reason: 'by mistake', by: 'grace', nowMs: ms(AT) }, asks('open-source'));
    expect(free.claims.map(({ attemptId }) => attemptId)).toEqual([`renewal_${AT}_2`, `renewal_${AT}_3`]);
    expect(free.state.grants.map(({ grantId }) => grantId).toSorted()).toEqual(
      ['', '_2', '_3'].map((number) => `renewal_${AT}${number}`),
    );
    expect(free.faults).toEqual([]);
  });

  it('asked for again changes nothing, and another only once what is open is paid or has failed', () => {
    const asked = life().does(asks('starter'));
    given(...asked.events).decides(asks('starter'));
    given(...asked.events).refuses(asks('team'), 'attempt_open', /renewal_.* of plan starter is open/);
    const again = life().does(asks('starter')).declined(ms(AT), true).does(asks('starter', '2026-12-01T00:00:00.000Z'));
    expect(again.claims.map((claim) => claim.attemptId)).toEqual([`renewal_${AT}`, `renewal_${AT}_2`]);
    expect(again.faults).toEqual([]);
    asked.declined(ms(AT) + DAY).does(asks('team', '2026-12-02T08:00:00.000Z'));
    expect(asked.claims.at(-1)).toMatchObject({ plan: 'team', periodStart: '2026-12-02T08:00:00.000Z' });
  });

  it.each([true, false])(
    'asked for once the one before was declined waits for nothing (for good: %s)',
    (isTerminal) => {
      const hours = (count: number): number => ms(END) + count * 3_600_000;
      const again = (count: number): AccountCommand => asks('team', new Date(hours(count)).toISOString());
      const one = onStarter()
        .does(looks(END))
        .declined(hours(1), isTerminal)
        .does(again(2))
        .declined(hours(3), isTerminal);
      one.does(looks(hours(4)), again(5));
      expect(one.claims.slice(2)).toMatchObject(
        [2, 5].map((at) => ({ plan: 'team', startedAt: new Date(hours(at)).toISOString() })),
      );
      expect(one.events.filter(({ type }) => type === 'PlanChanged').length).toBe(2);
      expect(one.faults).toEqual([]);
    },
  );

  it('is asked for twice in one millisecond while nothing may be charged, and is then the later one', () => {
    const one = life().does({ type: 'SuspendAccount', reason: 'fraud' }, asks('starter'), asks('team'));
    one.does({ type: 'ReinstateAccount', reason: 'none' }, looks(AT));
    expect(one.claims).toMatchObject([{ plan: 'team', periodStart: AT, periodEnd: END }]);
    expect(one.faults).toEqual([]);
  });

  it('is one of the catalog, for the product of the account', () => {
    given(opened).refuses(asks('tema'), 'plan_not_found', /no plan "tema" .* it has starter, team/);
    const foreign = { ...asks('team'), catalog: catalogOf({ ...TEAM, product: 'agents' }) } as AccountCommand;
    given(opened).refuses(foreign, 'plan_not_found', /^plan: the catalog has no plans for the product/);
    given(opened).refuses(asks('none'), 'plan_not_found', /the account has none/);
  });
});

describe('a renewal', () => {
  it('begins as the period ends, not before, and once', () => {
    const one = onStarter();
    given(...one.events).decides(looks(ms(END) - 1));
    one.does(looks(END), looks(END), looks('2026-12-31T00:00:00.000Z'));
    expect(one.claims.length).toBe(2);
    expect(one.claims[1]).toMatchObject({ periodStart: END, periodEnd: '2027-01-30T10:00:00.000Z' });
    one.pays('2026-12-31T00:00:00.000Z').does(looks('2026-12-31T00:00:01.000Z'));
    expect(one.claims.length).toBe(2);
    expect(one.state.balance).toBe(50_000_000n);
    expect(one.faults).toEqual([]);
  });

  it('after months in which nobody looked is of the period that is, and of no other', () => {
    const late = onStarter().does(looks('2027-04-15T00:00:00.000Z'));
    expect(late.claims.slice(1)).toMatchObject([
      { periodStart: '2027-03-30T10:00:00.000Z', periodEnd: '2027-04-30T10:00:00.000Z' },
    ]);
  });

  it('is by the newest catalog, and by the last that had the plan where it is sold no more', () => {
    const dearer = { ...STARTER, price: usd(22_000_000), credits: usd(26_000_000) };
    const next = { version: 3, plans: new Map([...catalog.plans, [2, [dearer]], [3, [TEAM]]]) };
    const one = onStarter().does({ ...looks(END), catalog: next });
    expect(one.claims[1]).toMatchObject({ catalogVersion: 2, price: 22_000_000n, credits: 26_000_000n });
  });

  it('that is declined is tried again later, under another id, until its grace is over: then the plan ends', () => {
    const one = onStarter().does(looks(END)).declined(ms(END));
    const firstGrace = one.claims[1]?.graceUntil;
    expect(firstGrace).toBe('2027-01-06T10:00:00.000Z');
    given(...one.events).decides(looks(ms(END) + DAY - 1));
    one.does(looks(ms(END) + DAY)).declined(ms(END) + DAY);
    expect(one.claims[2]).toMatchObject({ attemptId: `renewal_${END}_2`, graceUntil: firstGrace });
    one.does(looks(ms(END) + 3 * DAY)).declined(ms(END) + 3 * DAY);
    given(...one.events).decides(looks(ms(END) + 7 * DAY - 1));
    one.does(looks(ms(END) + 7 * DAY), looks(ms(END) + 8 * DAY));
    expect(one.events.at(-1)).toEqual({
      type: 'PlanEnded',
      data: { plan: 'starter', reason: 'unpaid', at: '2027-01-06T10:00:00.000Z' },
    });
    expect(one.state).toMatchObject({ plan: 'trial', billing: { plan: null, endedPlan: { reason: 'unpaid' } } });
    expect(one.faults).toEqual([]);
  });

  it('that nobody has answered is waited for past its grace, and begun again where it was given up: no outage ends a plan', () => {
    const claimed = (): Life => onStarter().does(online(ms(END)));
    const kept = claimed().does(online(ms(END) + 8 * DAY));
    expect(kept.claims.length).toBe(2);
    expect(kept.pays('2027-01-08T00:00:00.000Z').plan).toMatchObject({ period: { startMs: ms(END) }, due: null });
    expect(kept.faults).toEqual([]);
    const again = claimed()
      .givenUp(ms(END) + 1)
      .does(online(ms(END) + DAY - 1));
    expect(again.claims.length).toBe(2);
    again.does(online(ms(END) + 8 * DAY)).pays('2027-01-08T00:00:00.000Z');
    expect(again.claims[2]).toMatchObject({ attemptId: `renewal_${END}_2`, graceUntil: '2027-01-06T10:00:00.000Z' });
    expect(again.plan).toMatchObject({ period: { startMs: ms(END) }, due: null });
    expect(again.faults).toEqual([]);
    // Its period went by meanwhile: of that nobody is asked for the money.
    const later = claimed()
      .givenUp(ms(END) + 40 * DAY)
      .does(online(ms(END) + 40 * DAY));
    expect(later.claims[2]).toMatchObject({
      ...{ periodStart: '2027-01-30T10:00:00.000Z', graceUntil: '2027-02-15T10:00:00.000Z' },
    });
    expect(later.faults).toEqual([]);
  });

  it('that is given up four times ends the plan once its grace is over, as a decline of the newest does', () => {
    const one = onStarter()
      .does(online(ms(END)))
      .givenUp(ms(END));
    for (const days of [1, 3, 7]) {
      expect(given(...one.events).decided(online(ms(END) + days * DAY - 1))).toEqual([]);
      one.does(online(ms(END) + days * DAY)).givenUp(ms(END) + days * DAY);
    }
    expect([one.claims.length, one.plan?.due?.attempts]).toEqual([5, 4]);
    expect(one.does(online(ms(END) + 7 * DAY)).events.at(-1)).toMatchObject({ type: 'PlanEnded' });
    expect(one.faults).toEqual([]);
    const declined = onStarter()
      .does(online(ms(END)))
      .givenUp(ms(END))
      .does(online(ms(END) + DAY));
    declined.declined(ms(END) + DAY).does(online(ms(END) + 7 * DAY));
    expect(declined.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'unpaid' } });
    expect(declined.faults).toEqual([]);
  });

  it('that was declined is tried again, whatever of it was given up: the fourth decline is the last', () => {
    const on = (days: number): number => ms(END) + days * DAY;
    const nextOf = (one: Life): unknown => one.events.findLast(({ type }) => type === 'PaymentFailed')?.data;
    const again = (days: number) => ({ nextAttemptAt: new Date(on(days)).toISOString() });
    const one = life().does(asks('team')).pays(AT);
    for (const days of [0, 1, 3]) one.does(online(on(days))).givenUp(on(days));
    for (const days of [7, 11]) {
      given(...one.events).decides(online(on(days) - 1));
      one.does(online(on(days))).declined(on(days));
      expect(nextOf(one)).toMatchObject(again(days + 4));
      // Programs of before took it for the fourth decline, or more.
      const { type, data } = one.events.at(-1) as Extract<AccountEvent, { type: 'PaymentFailed' }>;
      const never: AccountEvent = { type, data: { ...data, nextAttemptAt: null } };
      expect(new Life(...one.events.slice(0, -1), never).faults).toEqual([]);
    }
    expect(one.faults).toEqual([]);
    const four = life()
      .does(asks('team'))
      .pays(AT)
      .does(online(on(0)))
      .givenUp(on(0));
    for (const [days, next] of [
      [1, 3],
      [3, 7],
      [7, 11],
    ] as const) {
      four.does(online(on(days))).declined(on(days));
      expect(nextOf(four)).toMatchObject(again(next));
    }
    four.does(online(on(11))).declined(on(11));
    expect(nextOf(four)).toMatchObject({ nextAttemptAt: null });
    expect(four.faults).toEqual([]);
    const goesOn = { type: 'PaymentFailed', data: { ...(nextOf(four) as object), ...again(15) } } as AccountEvent;
    expect(new Life(...four.events.slice(0, -1), goesOn).faults).toContainEqual(
      expect.stringMatching(/when another may be begun/),
    );
  });

  it('that is given up is begun again as long as there is time, however often; four times end its plan once there is none', () => {
    const on = (days: number): number => ms(END) + days * DAY;
    const one = life().does(asks('team')).pays(AT);
    for (const days of [0, 1, 3, 7, 11]) {
      given(...one.events).decides(online(on(days) - 1));
      one.does(online(on(days))).givenUp(on(days));
    }
    expect(one.claims.length).toBe(6);
    // Of another plan, which is asked for by now, nobody was asked.
    const other = new Life(...one.events).does({
      ...asks('starter'),
      ...online(on(13)),
      type: 'ChangePlan',
    } as AccountCommand);
    expect(other.claims.at(-1)).toMatchObject({ plan: 'starter', startedAt: new Date(on(13)).toISOString() });
    const withdrawn = new Life(...one.events, ...other.events.slice(one.events.length, -1)).does(online(on(20)));
    expect(withdrawn.events.at(-1)).toMatchObject({ type: 'RenewalStarted', data: { plan: 'starter' } });
    expect(withdrawn.faults).toEqual([]);
    expect(one.does(online(on(14))).events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'unpaid' } });
    expect(one.faults).toEqual([]);
  });

  it('that an operator has declined is begun again as the plan is asked for, not by itself', () => {
    const one = onStarter().does(looks(END)).givenUp(ms(END));
    given(...one.events).decides(looks(ms(END) + 7 * DAY - 1));
    expect(new Life(...one.events).does(asks('starter', END)).claims.length).toBe(3);
    expect(one.does(looks(ms(END) + 7 * DAY)).events.at(-1)).toMatchObject({ type: 'PlanEnded' });
    expect(one.faults).toEqual([]);
  });

  it('whose card will never do waits for another one, and is then tried at once', () => {
    const one = onStarter().does(looks(END)).declined(ms(END), true);
    given(...one.events).decides(looks(ms(END) + 5 * DAY));
    one.does({
      ...{ type: 'SavePaymentMethod', provider: 'manual', customerId: 'c', paymentMethodId: 'pm', brand: 'visa' },
      ...{ last4: '4242', consentedAtMs: ms(END), by: 'owner@example.com' },
    });
    one.does(looks(ms(END) + 5 * DAY));
    expect(one.claims.length).toBe(3);
  });

  it('whose card was replaced while it was charged is tried at once with the one that is saved, however that was declined', () => {
    const charged = (): Life => onStarter().does(save('pm_old'), online(ms(END)), save('pm_new'));
    for (const isTerminal of [true, false]) {
      const one = charged().declined(ms(END) + 1, isTerminal);
      expect(one.events.at(-1)).toMatchObject({ data: { nextAttemptAt: '2026-12-30T10:00:00.001Z' } });
      one.does(online(ms(END) + 1)).declined(ms(END) + 1, isTerminal);
      // Of this one it is the first.
      const next = isTerminal ? null : '2027-01-01T10:00:00.001Z';
      expect(one.events.at(-1)).toMatchObject({ data: { nextAttemptAt: next } });
      expect([one.claims.length, one.faults]).toEqual([3, []]);
    }
    // Also where that is known once its grace is over, or nobody has answered.
    for (const told of [charged().declined(ms(END) + 8 * DAY, true), charged().givenUp(ms(END) + 8 * DAY)]) {
      told.does(online(ms(END) + 8 * DAY));
      expect(told.claims[2]).toMatchObject({ startedAt: '2027-01-07T10:00:00.000Z', periodStart: END });
      expect(told.faults).toEqual([]);
    }
    const ended = charged().declined(ms(END) + 8 * DAY, true);
    expect(faultsOf([...ended.events, unpaid('2027-01-07T10:00:00.000Z')])).toContainEqual(
      expect.stringMatching(/has ended unpaid, and renewal_.* was never answered/),
    );
    ended.does(online(ms(END) + 8 * DAY)).declined(ms(END) + 8 * DAY, true);
    expect(ended.does(online(ms(END) + 8 * DAY)).events.at(-1)).toMatchObject({ type: 'PlanEnded' });
    expect(ended.faults).toEqual([]);
  });

  it('has as many declines of each card, and none of another counts among them', () => {
    const one = onStarter().does(save('pm_0'), online(ms(END)));
    let nowMs = ms(END);
    for (let time = 0; time < 3; time++) {
      one.declined(nowMs);
      nowMs += ([1, 2, 4][time] as number) * DAY;
      if (time < 2) one.does(online(nowMs));
    }
    one.does(save('pm_1'), online(nowMs - 1)).declined(nowMs - 1);
    expect(one.events.at(-1)).toMatchObject({
      type: 'PaymentFailed',
      data: { nextAttemptAt: instant(nowMs - 1 + 4 * DAY) },
    });
    expect(one.faults).toEqual([]);
    // Programs of before took it for the fourth.
    const failed = one.events.at(-1);
    const never = { ...failed, data: { ...failed?.data, nextAttemptAt: null } } as AccountEvent;
    expect(faultsOf([...one.events.slice(0, -1), never])).toEqual([]);
  });

  it('is begun by who asks for the plan again once it is due, too, and once', () => {
    const [before, at] = [instant(ms(END) - 1), END];
    given(...onStarter().events).decides(asks('starter', before));
    const one = onStarter().does(asks('starter', at), asks('starter', at), looks(at));
    expect(one.claims.slice(1)).toMatchObject([{ kind: 'renewal', plan: 'starter', periodStart: END, startedAt: at }]);
    expect(one.events.filter(({ type }) => type === 'PlanChanged').length).toBe(1);
    const other = onStarter().does(asks('open-source', before), asks('open-source', at));
    expect(other.claims.slice(1)).toMatchObject([{ plan: 'open-source', periodStart: END }]);
    const suspended = onStarter().does({ type: 'SuspendAccount', reason: 'fraud' });
    given(...suspended.events).decides(asks('starter', at));
    expect([one.faults, other.faults]).toEqual([[], []]);
  });

  it('is not begun while the account is suspended', () => {
    const one = onStarter().does({ type: 'SuspendAccount', reason: 'fraud' }, looks(END));
    expect(one.claims.length).toBe(1);
    expect(one.does({ type: 'ReinstateAccount', reason: 'none' }, looks(END)).claims.length).toBe(2);
  });

  it('that was declined ends the plan past its grace though another method is saved, where that is not charged then', () => {
    const saved = (id: string): AccountCommand => ({
      ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId: id, brand: 'visa' },
      ...{ last4: '4242', consentedAtMs: ms(END), by: 'owner@example.com' },
    });
    const declined = onStarter().does(saved('pm'), online(ms(END)));
    declined.declined(ms(END) + 1, true).does(saved('pm_other'));
    const over = ms(END) + 8 * DAY;
    const charged = new Life(...declined.events).does(online(over));
    expect([charged.claims.length, charged.faults]).toEqual([3, []]);
    const suspended = declined.does({ type: 'SuspendAccount', reason: 'fraud' }, online(over - 2 * DAY));
    expect(suspended.plan).not.toBeNull();
    suspended.does(online(over), { type: 'ReinstateAccount', reason: 'none' }, online(over + 1));
    expect([suspended.plan, suspended.claims.length, suspended.faults]).toEqual([null, 2, []]);
  });

  it('that is paid after the plan has ended, or after its period, is credit as bought', () => {
    const unpaid = onStarter().does(looks(END), looks(ms(END) + 7 * DAY));
    expect(unpaid.plan).toBeNull();
    const late = unpaid.pays('2027-01-20T00:00:00.000Z');
    expect(late.events.at(-1)).toMatchObject({ data: { source: 'purchase', amount: 25_000_000n, expiresAt: null } });
    expect(late.state.plan).toBe('trial');
    const after = onStarter().does(looks(END)).pays('2027-02-01T00:00:00.000Z');
    expect(after.events.at(-1)).toMatchObject({ data: { source: 'purchase', expiresAt: null } });
    expect(after.does(looks('2027-02-01T00:00:00.000Z')).claims.at(-1)).toMatchObject({
      periodStart: '2027-01-30T10:00:00.000Z',
    });
  });
});

it('what may be owed is leased beside what there is, and the next credits fill it', () => {
  const one = life().does(asks('team')).pays(AT);
  const lease = (upTo: number): AccountCommand => ({
    ...{ type: 'LeaseCredits', proxy: 'prx_a' as never, leaseId: 'lease_a' as never, epoch: 1, keyId: null },
    ...{ upTo: usd(upTo), requestsBeforeMs: null, othersAheadMs: 0, expiresAtMs: ms(END), nowMs: ms(AT) },
  });
  expect(given(...one.events).decided(lease(500_000_000))).toMatchObject([{ data: { amount: 280_000_000n } }]);
  const at = { startedAt: AT, finishedAt: AT };
  one.does(record(usageOf(1, 270_000_000, at)));
  expect([one.state.uncovered, spendable(one.state, ms(AT))]).toEqual([10_000_000n, -10_000_000n]);
  expect(given(...one.events).decided(lease(500_000_000))).toMatchObject([{ data: { amount: 10_000_000n } }]);
  one.does(looks(END)).pays(END, 'next');
  expect([one.state.uncovered, spendable(one.state, ms(END))]).toEqual([0n, 250_000_000n]);
});

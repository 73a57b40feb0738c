import { describe, expect, it } from 'vitest';
import { paymentId } from '../../../contracts/ids.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
import { AT, asks, END, Life, life, online, onStarter } from './plan-life.ts';
import { atEnd, FIRST, LATER, lent, MID, OVERDRAFT, refund, TEAM_PRICE } from './plan-money-back.ts';

describe('a dearer plan was paid for in mid-period', () => {
  const [starter, team] = [FIRST, paymentId(`pi_${MID}`)];
  const onDearer = (from = onStarter()): Life => from.does(asks('team', MID)).pays(MID);
  /** All of what the last attempt has cost. */
  const back = (one: Life, refundId: string, of = team): Life =>
    one.does(refund(Number(one.claims.at(-1)?.price), refundId, of));

  it.each<[string, (one: Life) => Life]>([
    ['as the period began', (one) => one.does(refund(20_000_000, 're_1', starter))],
    ['for the dearer one', (one) => back(one, 're_1')],
  ])('what was paid %s alone goes back: it lends, and is renewed', (_, goesBack) => {
    const one = goesBack(onDearer());
    expect([one.state.plan, lent(one)]).toEqual(['team', OVERDRAFT]);
    expect(atEnd(one)).toMatchObject({ type: 'RenewalStarted', data: { plan: 'team' } });
    expect(one.faults).toEqual([]);
  });

  it('both go back: it lends nothing, and is not renewed', () => {
    const one = back(onDearer(), 're_1').does(refund(20_000_000, 're_2', starter));
    expect([one.state.plan, lent(one)]).toEqual(['team', 0n]);
    expect(atEnd(one)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled' } });
    expect(one.faults).toEqual([]);
  });

  it('paid after the period’s own went back, it lends and is renewed', () => {
    const one = onStarter().does(asks('team', MID), refund(20_000_000, 're_1', starter));
    expect([one.state.plan, one.pays(LATER, MID).state.plan, lent(one)]).toEqual(['starter', 'team', OVERDRAFT]);
    expect(atEnd(one)).toMatchObject({ type: 'RenewalStarted', data: { plan: 'team' } });
    expect(one.faults).toEqual([]);
  });

  it('behind what cost nothing it is all that was paid', () => {
    const one = onDearer(life().does(asks('open-source')));
    expect([one.state.plan, lent(one)]).toEqual(['team', OVERDRAFT]);
    expect(lent(back(one, 're_1'))).toBe(0n);
    expect(atEnd(one)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled' } });
    expect(one.faults).toEqual([]);
  });

  it('paid too late it is credit as bought, and neither stands for the plan nor ends it', () => {
    const paidLate = (): Life =>
      onStarter()
        .does(asks('team', MID))
        .givenUp(ms(MID) + 1)
        .does(asks('starter', LATER))
        .pays(LATER, MID);
    expect(paidLate().state.plan).toBe('starter');
    const own = paidLate().does(refund(20_000_000, 're_1', starter));
    expect(atEnd(own)).toMatchObject({ type: 'PlanEnded', data: { plan: 'starter', reason: 'cancelled' } });
    const other = back(paidLate(), 're_1');
    expect(atEnd(other)).toMatchObject({ type: 'RenewalStarted', data: { plan: 'starter' } });
    expect([own.faults, other.faults]).toEqual([[], []]);
  });

  const told = new Date(ms(END) + 5 * 60_000).toISOString();
  const afterEnd = (from = onStarter()): Life => from.does(asks('team', MID)).pays(told, MID);

  it('told after the end it stands for the plan that it has brought', () => {
    const one = afterEnd().does(refund(20_000_000, 're_1', starter));
    expect([one.state.plan, lent(one, told)]).toEqual(['team', OVERDRAFT]);
    expect(one.does(online(ms(told))).events.at(-1)).toMatchObject({ type: 'RenewalStarted', data: { plan: 'team' } });
    expect(one.faults).toEqual([]);
  });

  it('told after the end, and back, it ends the plan behind what cost nothing: no card is charged for it again', () => {
    const one = back(afterEnd(life().does(asks('open-source'))), 're_1');
    expect([one.state.plan, lent(one, told)]).toEqual(['team', 0n]);
    expect(one.does(online(ms(told))).events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team' } });
    expect(one.faults).toEqual([]);
  });

  it('paid twice, either payment stands for the plan, and none once both are back', () => {
    const one = life()
      .does(asks('open-source'), asks('team', MID))
      .givenUp(ms(MID) + 1);
    const first = one.claims.at(-1);
    if (first === undefined) throw new Error('nothing was begun');
    one.does(asks('team', LATER)).pays(LATER);
    const { attemptId, provider, price: amount } = first;
    const said = { provider, amount, paidAtMs: ms(MID), nowMs: ms(LATER) };
    one.does({ type: 'RecordPayment', attemptId, paymentId: team, ...said });
    back(one, 're_1', paymentId(`pi_${LATER}`));
    expect([one.state.plan, lent(one)]).toEqual(['team', OVERDRAFT]);
    const none = new Life(...one.events).does(refund(Number(amount), 're_2', team));
    expect([lent(none), none.faults]).toEqual([0n, []]);
    expect(atEnd(one)).toMatchObject({ type: 'RenewalStarted', data: { plan: 'team' } });
    expect(atEnd(none)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team' } });
    expect([one.faults, none.faults]).toEqual([[], []]);
  });

  it('what was paid for one that a still dearer one has followed stands, too', () => {
    const one = onDearer().does(asks('big', LATER)).pays(LATER);
    const price = Number(one.claims.at(-1)?.price);
    one.does(refund(20_000_000, 're_1', starter), refund(price, 're_2', paymentId(`pi_${LATER}`)));
    expect([one.state.plan, lent(one)]).toEqual(['big', 50_000_000n]);
    expect(atEnd(one)).toMatchObject({ type: 'RenewalStarted', data: { plan: 'big' } });
    expect(one.faults).toEqual([]);
  });

  it('bought too late in a period, it does not stand for that because the period before had such a one', () => {
    const [asked, again] = ['2027-01-15T10:00:00.000Z', '2027-01-16T10:00:00.000Z'];
    const one = onDearer()
      .does(asks('starter', LATER), online(ms(END)))
      .pays(END);
    one
      .does(asks('team', asked))
      .givenUp(ms(asked) + 1)
      .does(asks('starter', again))
      .pays(again, 'late');
    expect([one.state.plan, one.claims.at(-1)?.kind]).toEqual(['starter', 'upgrade']);
    one.does(refund(20_000_000, 're_1', paymentId(`pi_${END}`)));
    const { events } = one.does(online(ms('2027-01-30T10:00:00.000Z')));
    expect(events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'starter', reason: 'cancelled' } });
    expect(one.faults).toEqual([]);
  });

  it('asked for by a clock that is behind the begin of the period it counts as any other', () => {
    const behind = new Date(ms(AT) - 5_000).toISOString();
    const dearer = (from: Life): Life => from.does(asks('team', behind)).pays(behind, MID);
    const one = dearer(onStarter()).does(refund(20_000_000, 're_1', starter));
    expect([one.state.plan, lent(one)]).toEqual(['team', OVERDRAFT]);
    expect(lent(back(one, 're_2'))).toBe(0n);
    expect(atEnd(one)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team' } });
    const behindFree = back(dearer(life().does(asks('open-source'))), 're_1');
    expect(atEnd(behindFree)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team' } });
    expect([one.faults, behindFree.faults]).toEqual([[], []]);
  });

  it('it does not stand for the period behind its own', () => {
    const one = onDearer()
      .does(online(ms(END)))
      .pays(END)
      .does(refund(TEAM_PRICE, 're_1', paymentId(`pi_${END}`)));
    expect(lent(one, END)).toBe(0n);
    expect(one.does(online(ms('2027-01-30T10:00:00.000Z'))).events.at(-1)).toMatchObject({ type: 'PlanEnded' });
    expect(one.faults).toEqual([]);
  });

  it('it does not stand for a plan that was begun anew behind it, though its period ends in the same instant', () => {
    const [first, second, third] = ['2027-01-30T10:00:00.000Z', '2027-01-30T12:00:00.000Z', '2027-01-31T10:00:00.000Z'];
    const one = life().does(asks('starter', first)).pays(first).does(asks('team', second)).pays(second);
    const endMs = one.plan?.period?.endMs;
    one
      .does({ type: 'EndPlan', reason: 'x', by: 'operator', nowMs: ms(third) - 1 }, asks('starter', third))
      .pays(third);
    expect([one.plan?.period?.startMs, one.plan?.period?.endMs]).toEqual([ms(third), endMs]);
    one.does(asks('team', LAST)).pays(LAST);
    one.does(refund(20_000_000, 're_1', paymentId(`pi_${third}`)));
    back(one, 're_2', paymentId(`pi_${LAST}`));
    expect(one.does(online(endMs ?? 0)).events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team' } });
    expect(one.faults).toEqual([]);
  });
});

const LAST = '2027-02-10T10:00:00.000Z';

import { describe, expect, it } from 'vitest';
import { paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { leftBeside } from '../../../ledger/account/leases.ts';
import { overdraftOf } from '../../../ledger/account/plan-over.ts';
import { accountOfText, accountText } from '../../../ledger/account/stored-account.ts';
import { STORED_PARTS } from '../../../ledger/account/stored-parts.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms, usd } from '../../fixtures/ledger/example-account.ts';
import { AT, asks, DAY, END, type Life, looks, online, onStarter } from './plan-life.ts';
import {
  atEnd,
  close,
  dispute,
  LATER,
  lent,
  MID,
  OVERDRAFT,
  onTeam,
  refund,
  TEAM_PRICE,
  withdraw,
} from './plan-money-back.ts';

/** What becomes of a plan whose period was paid for, and that money has gone back. */

const GONE: readonly [string, ...AccountCommand[]][] = [
  ['refunded', refund(TEAM_PRICE)],
  ['refunded in two parts', refund(TEAM_PRICE / 4), refund((TEAM_PRICE / 4) * 3, 're_2')],
  ['disputed', dispute()],
  ['lost in a dispute', dispute(), close('lost')],
  ['refunded and disputed, each in part', refund(TEAM_PRICE / 4), dispute((TEAM_PRICE / 4) * 3)],
  ['lost, after the dispute was won', dispute(), close('won'), close('lost')],
];

describe.each(GONE)('all that was paid for a period is %s: the plan', (_, ...commands) => {
  const gone = (): Life => onTeam().does(...commands);

  it('lends nothing from then on, also to a lease', () => {
    expect([lent(onTeam()), lent(gone())]).toEqual([OVERDRAFT, 0n]);
    const { state } = gone();
    const withoutPlan = { ...state, billing: { ...state.billing, plan: null } };
    const [left, leftWithout] = [state, withoutPlan].map((one) => leftBeside(one, null, { leases: [] }, ms(LATER)));
    expect(left).toEqual(leftWithout);
    expect(gone().state.plan).toBe('team');
  });

  it('is not renewed: it ends as its period does, as if that had been asked for, and nobody finds fault with that', () => {
    const one = gone();
    given(...one.events).decides(online(ms(END) - 1));
    expect(atEnd(one)).toEqual({ type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled', at: END } });
    expect([one.claims.length, one.faults]).toEqual([1, []]);
  });

  it.each(['team', 'starter', 'big'])(
    'has %s begun anew for who asks for that, with a first payment at once',
    (plan) => {
      const one = gone().does(asks(plan, LATER));
      expect(one.events.slice(-3)).toMatchObject([
        { type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled', at: LATER } },
        { type: 'PlanChanged', data: { plan } },
        { type: 'RenewalStarted', data: { plan, kind: 'renewal', periodStart: LATER } },
      ]);
      expect([one.state.plan, lent(one), one.faults]).toEqual(['trial', 0n, []]);
      one.pays(LATER);
      expect([one.state.plan, one.faults]).toEqual([plan, []]);
      expect(one.does(online(ms(END) + DAY)).claims).toHaveLength(2);
    },
  );
});

describe.each<[string, ...AccountCommand[]]>([
  ['all of it but a micro-USD was refunded', refund(TEAM_PRICE - 1)],
  ['a part of it was disputed', dispute(TEAM_PRICE - 1)],
  ['the dispute was won', dispute(), close('won')],
  ['the dispute was lost, and won after all', dispute(), close('lost'), close('won')],
  ['the refund was withdrawn', refund(TEAM_PRICE), withdraw()],
  ['one of two refunds was withdrawn', refund(TEAM_PRICE / 2), refund(TEAM_PRICE / 2, 're_2'), withdraw('re_2')],
])('%s: the plan', (_, ...commands) => {
  it('lends what it did, is renewed, and is there for who asks for it', () => {
    const one = onTeam().does(...commands);
    expect(lent(one)).toBe(OVERDRAFT);
    given(...one.events).decides(asks('team', LATER));
    expect(atEnd(one)).toMatchObject({ type: 'RenewalStarted', data: { plan: 'team', periodStart: END } });
    expect(one.faults).toEqual([]);
  });
});

it('a plan is renewed where its money is here again before anybody has looked at the end of its period', () => {
  const one = onTeam().does(dispute(), { ...close('won'), nowMs: ms(END) + DAY } as AccountCommand);
  expect(one.does(online(ms(END) + DAY)).events.at(-1)).toMatchObject({ type: 'RenewalStarted' });
});

it('asked for and refused, a plan whose money went back stays as it is: that may come again', () => {
  const one = onTeam().does(dispute());
  given(...one.events).refuses(asks('unheard', LATER), 'plan_not_found');
  expect(lent(one.does(close('won')))).toBe(OVERDRAFT);
});

it('asked for while a dearer one is to be paid, a plan whose money went back ends alone, which withdraws that', () => {
  const one = onTeam().does(asks('big', MID), refund(TEAM_PRICE), asks('team', LATER));
  expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled' } });
  one.givenUp(ms(LATER)).does(asks('team', LATER));
  expect([one.claims.at(-1)?.periodStart, one.faults]).toEqual([LATER, []]);
});

it('none is asked for of a plan whose money went back as of any other: it goes on to its end, or ends now', () => {
  const one = onTeam().does(refund(TEAM_PRICE), asks('none', LATER));
  expect(one.events.at(-1)).toMatchObject({ type: 'PlanChanged', data: { plan: 'none' } });
  one.does({ type: 'EndPlan', reason: 'x', by: 'operator', nowMs: ms(LATER) });
  expect([one.plan, one.faults]).toEqual([null, []]);
});

it('a period that was paid twice is paid while either payment stands', () => {
  const one = onTeam()
    .does(online(ms(END)))
    .givenUp(ms(END) + 1);
  const [, given1] = one.claims;
  one.does(online(ms(END) + DAY + 1)).pays(new Date(ms(END) + DAY + 1).toISOString(), 'second');
  const said = { provider: 'stripe', amount: usd(TEAM_PRICE), paidAtMs: ms(END), nowMs: ms(END) + 2 * DAY };
  if (given1 === undefined) throw new Error('nothing was renewed');
  one.does({ type: 'RecordPayment', attemptId: given1.attemptId, paymentId: paymentId('pi_first'), ...said });
  const at = new Date(ms(END) + 3 * DAY).toISOString();
  expect(lent(one.does(refund(TEAM_PRICE, 're_1', paymentId('pi_second'))), at)).toBe(OVERDRAFT);
  expect(lent(one.does(refund(TEAM_PRICE, 're_2', paymentId('pi_first'))), at)).toBe(0n);
  expect(one.faults).toEqual([]);
});

it('a period that costs nothing stands, whatever goes back of what was paid too late for another plan', () => {
  const one = onStarter()
    .does(online(ms(END)))
    .givenUp(ms(END) + 1);
  const attempt = one.claims.at(-1);
  if (attempt === undefined) throw new Error('nothing was renewed');
  one.does(asks('open-source', new Date(ms(END) + 2).toISOString()));
  const said = { provider: 'stripe', amount: usd(20_000_000), paidAtMs: ms(END), nowMs: ms(END) + DAY };
  one.does({ type: 'RecordPayment', attemptId: attempt.attemptId, paymentId: paymentId('pi_late'), ...said });
  one.does(refund(20_000_000, 're_1', paymentId('pi_late')));
  expect(one.state.plan).toBe('open-source');
  expect(one.does(looks('2027-01-30T10:00:00.000Z')).claims.at(-1)).toMatchObject({ plan: 'open-source', price: 0n });
  expect(one.faults).toEqual([]);
});

describe('another plan was paid for, too, in a period, which turned out later', () => {
  const at = (days: number): string => new Date(ms(END) + days * DAY).toISOString();
  const said = (days: number) => ({ provider: 'stripe', paidAtMs: ms(END), nowMs: ms(at(days)) });

  /** Of the period from END on, which is the second one's; `day` is when that is paid. */
  function paidFor(first: 'starter' | 'team', second: 'starter' | 'team', day = 1): Life {
    const one = (first === 'team' ? onTeam() : onStarter()).does(online(ms(END))).givenUp(ms(END) + 1);
    const late = one.claims.at(-1);
    if (late === undefined) throw new Error('nothing was renewed');
    one.does(asks(second, new Date(ms(END) + 2).toISOString())).pays(at(day), 'own');
    const payment = { paymentId: paymentId('pi_late'), amount: late.price };
    return one.does({ type: 'RecordPayment', attemptId: late.attemptId, ...payment, ...said(day) });
  }
  const goesBack = (one: Life, id: string, amount: number): Life => one.does(refund(amount, id, paymentId(id)));

  it('the plan lends nothing, and is not renewed, once its own payment is back', () => {
    const one = goesBack(paidFor('starter', 'team'), 'pi_own', TEAM_PRICE);
    expect([one.state.plan, lent(one, at(2))]).toEqual(['team', 0n]);
    expect(one.does(online(ms(at(31)))).events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team' } });
    expect(one.faults).toEqual([]);
  });

  it('the plan stays as it is where the other’s goes back', () => {
    const one = goesBack(paidFor('starter', 'team'), 'pi_late', 20_000_000);
    expect(lent(one, at(2))).toBe(OVERDRAFT);
    expect(one.does(online(ms(at(31)))).claims.at(-1)).toMatchObject({
      plan: 'team',
      periodStart: '2027-01-30T10:00:00.000Z',
    });
    expect(one.faults).toEqual([]);
  });

  it('a dearer one that is there by now does not stand by what was paid for it instead of the period’s', () => {
    const one = paidFor('team', 'starter')
      .does(asks('team', at(2)))
      .pays(at(2), 'dearer');
    expect([one.state.plan, lent(one, at(3))]).toEqual(['team', OVERDRAFT]);
    goesBack(one, 'pi_own', 20_000_000);
    expect([lent(one, at(3)), one.faults]).toEqual([OVERDRAFT, []]);
    goesBack(one, 'pi_dearer', Number(one.claims.at(-1)?.price));
    expect([lent(one, at(3)), one.faults]).toEqual([0n, []]);
    expect(one.does(online(ms(at(31)))).events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team' } });
    expect(one.faults).toEqual([]);
  });

  it('a plan that was paid, as was told after its period, ends once that is back', () => {
    const one = goesBack(paidFor('team', 'starter', 32), 'pi_own', 20_000_000);
    expect(one.plan?.period?.startMs).toBe(ms(END));
    expect(one.does(online(ms(at(32)))).events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'starter' } });
    expect(one.faults).toEqual([]);
  });
});

it('what was begun anew in the very instant in which the plan before had begun stands by its own payment', () => {
  const one = onTeam().does(refund(TEAM_PRICE), asks('starter')).pays(AT, 'anew');
  expect([one.plan?.period?.startMs, one.state.plan]).toEqual([ms(AT), 'starter']);
  expect(atEnd(one)).toMatchObject({ type: 'RenewalStarted', data: { plan: 'starter' } });
  expect(one.faults).toEqual([]);
});

describe('another plan was asked for, from the end of a period whose money went back on', () => {
  const followed = (plan: string): Life => onTeam().does(asks(plan, MID), refund(TEAM_PRICE));
  const later = (days: number): number => ms(END) + days * DAY;

  it('it begins then by its own payment, and meanwhile nothing may be owed', () => {
    const one = followed('starter');
    given(...one.events).decides(online(ms(END) - 1));
    expect(atEnd(one)).toMatchObject({
      ...{ type: 'RenewalStarted', data: { plan: 'starter', price: 20_000_000n, periodStart: END } },
    });
    expect([lent(one, END), one.plan?.plan]).toEqual([0n, 'team']);
    one.pays(END, 'next');
    expect([one.state.plan, one.plan?.period?.startMs, one.plan?.next]).toEqual(['starter', ms(END), null]);
    expect(one.does(online(ms('2027-01-30T10:00:00.000Z'))).claims.at(-1)).toMatchObject({ plan: 'starter' });
    expect(one.faults).toEqual([]);
  });

  it('one that costs nothing is there at once', () => {
    const one = followed('open-source').does(online(ms(END)));
    expect([one.state.plan, one.plan?.period?.startMs, one.faults]).toEqual(['open-source', ms(END), []]);
  });

  it('declined, it is tried again, and not paid by the end of its grace the plan ends unpaid', () => {
    const one = followed('starter')
      .does(online(ms(END)))
      .declined(ms(END));
    expect(one.does(online(later(1))).claims.map(({ plan }) => plan)).toEqual(['team', 'starter', 'starter']);
    one.declined(later(1)).does(online(later(7)));
    expect(one.events.at(-1)).toEqual({
      ...{ type: 'PlanEnded', data: { plan: 'team', reason: 'unpaid', at: new Date(later(7)).toISOString() } },
    });
    expect(one.faults).toEqual([]);
  });

  it('it is tried again also where that went back once it was to be paid', () => {
    const one = onTeam()
      .does(asks('starter', MID), online(ms(END)), refund(TEAM_PRICE))
      .declined(ms(END));
    expect(one.does(online(later(1))).claims.map(({ plan }) => plan)).toEqual(['team', 'starter', 'starter']);
    expect(one.faults).toEqual([]);
  });

  it('none ends it, as where nothing was asked for; and who asks for a plan meanwhile has that begun anew', () => {
    expect(atEnd(followed('none'))).toMatchObject({ type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled' } });
    for (const [plan, at] of [
      ['starter', LATER],
      ['big', LATER],
      ['team', END],
    ] as const) {
      const one = followed('starter').does(asks(plan, at));
      expect(one.claims.at(-1)).toMatchObject({ plan, periodStart: at, kind: 'renewal' });
      expect(one.faults).toEqual([]);
    }
    const inTheWay = onTeam().does(asks('starter', MID), asks('big', MID), refund(TEAM_PRICE), asks('team', END));
    expect([inTheWay.plan, inTheWay.faults]).toEqual([null, []]);
  });

  it('who asks for the plan itself once it is due has that begun anew, behind an attempt in the way once that is withdrawn', () => {
    const due = (): Life => followed('starter').does(online(ms(END)));
    const at = new Date(later(1)).toISOString();
    const declined = due().declined(ms(END)).does(asks('team', at));
    expect(declined.events.slice(-3)).toMatchObject([
      { type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled' } },
      { type: 'PlanChanged', data: { plan: 'team' } },
      { type: 'RenewalStarted', data: { plan: 'team', periodStart: at, price: 200_000_000n } },
    ]);
    const open = due().does(asks('team', at));
    expect(open.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled' } });
    open.givenUp(later(1)).does(asks('team', at));
    expect(open.claims.at(-1)).toMatchObject({ plan: 'team', periodStart: at });
    expect(due().does(asks('starter', at)).claims).toHaveLength(2);
    const dearer = due().declined(ms(END)).does(asks('big', at));
    expect(dearer.claims.at(-1)).toMatchObject({ plan: 'big', periodStart: END });
    expect([declined.faults, open.faults, dearer.faults]).toEqual([[], [], []]);
  });

  it('the auditor tells of an end that has dropped it', () => {
    const one = followed('starter');
    one.events.push({ type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled', at: END } });
    expect(one.faults).toEqual([
      expect.stringMatching(/^.*plan team: has ended as cancelled, and starter was to follow it/),
    ]);
  });
});

describe('what was paid for the period before goes back while the next is to be paid: the plan', () => {
  const due = (): Life => onTeam().does(online(ms(END)), refund(TEAM_PRICE));

  it('lends nothing, and waits for the attempt that is open: paid, it goes on', () => {
    const one = due();
    expect(lent(one, END)).toBe(0n);
    given(...one.events).decides(online(ms(END) + DAY));
    given(...one.events).decides(asks('team', new Date(ms(END) + DAY).toISOString()));
    expect(lent(one.pays(END, 'next'), END)).toBe(OVERDRAFT);
    expect([one.plan?.period?.startMs, one.faults]).toEqual([ms(END), []]);
  });

  it('ends once that is declined: no further one is begun', () => {
    const one = due().declined(ms(END) + 1);
    one.does(online(ms(END) + 1));
    expect(one.events.at(-1)).toMatchObject({ type: 'PlanEnded', data: { reason: 'cancelled' } });
    expect([one.claims.length, one.faults]).toEqual([2, []]);
  });
});

it('an account as it is stored knows that the money of its plan went back', () => {
  const { state } = onTeam().does(refund(TEAM_PRICE));
  const { attempts } = state.billing.payments;
  const rows = [...STORED_PARTS.endedAttempts.changes({ ...NO_ROWS }, { ...NO_ROWS, attempts })];
  const stored = rows.flatMap(([id, text]) => (text === null ? [] : [[id, text] as const]));
  const read = STORED_PARTS.endedAttempts.put(accountOfText(accountText(state)), stored);
  expect([rows.length, overdraftOf(read, ms(LATER))]).toEqual([1, 0n]);
});

const NO_ROWS = { keys: null, keyLimits: null, months: [], attempts: null };

it('the auditor tells of a plan that ended as cancelled, which nobody has asked for, and whose money is here', () => {
  const one = onTeam().does(refund(TEAM_PRICE - 1));
  one.events.push({ type: 'PlanEnded', data: { plan: 'team', reason: 'cancelled', at: END } });
  expect(one.faults).toEqual([expect.stringMatching(/nobody asked for its end, nor is what was paid for it back/)]);
});

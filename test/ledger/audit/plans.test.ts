import { expect, it } from 'vitest';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { catalogOfFaults, faultsOf } from './account-faults.ts';

const AT = '2026-11-30T10:00:00.000Z';
const MID = '2026-12-15T10:00:00.000Z';
const END = '2026-12-30T10:00:00.000Z';
const NEXT = '2027-01-30T10:00:00.000Z';
const renewing = (at: string) => ({ provider: 'manual', catalog: catalogOfFaults, nowMs: ms(at) });

/** A plan, a dearer one in mid-period, and a renewal, each paid. */
function life(): AccountEvent[] {
  const events: AccountEvent[] = [opened];
  const does = (command: AccountCommand): void => {
    events.push(...given(...events).decided(command));
    const claim = events.findLast(({ type }) => type === 'RenewalStarted')?.data as EventData<'RenewalStarted'>;
    const { attemptId, provider, price: amount } = claim;
    const paid = { provider, paymentId: paymentId(`pi_${claim.periodStart}`), amount };
    const nowMs = ms(claim.periodStart);
    events.push(...given(...events).decided({ type: 'RecordPayment', attemptId, ...paid, paidAtMs: nowMs, nowMs }));
  };
  const change = { type: 'ChangePlan', reason: 'as asked for', by: 'operator' } as const;
  does({ ...change, plan: 'starter', ...renewing(AT) });
  does({ ...change, plan: 'team', ...renewing(MID) });
  does({ type: 'StartRenewal', ...renewing(END) });
  return events;
}

/** With other data in the nth event of a type. */
function changed(type: AccountEvent['type'], nth: number, data: object): AccountEvent[] {
  let seen = 0;
  return life().map((event) =>
    event.type === type && seen++ === nth ? ({ ...event, data: { ...event.data, ...data } } as AccountEvent) : event,
  );
}

it('finds nothing wrong with a plan, a dearer one and a renewal, each paid', () => {
  expect(faultsOf(life())).toEqual([]);
});

it.each<[string, AccountEvent['type'], number, object, RegExp]>([
  ['another price', 'RenewalStarted', 2, { price: usd(1) }, /: its price is 0\.000001 USD, should be 200\.000000/],
  ['other credits', 'RenewalStarted', 2, { credits: usd(1) }, /: its credits is 0\.000001 USD, should be 260\.000000/],
  ['more to be owed', 'RenewalStarted', 2, { overdraft: usd(1) }, /: what may be owed is 0\.000001 USD/],
  ['another plan', 'RenewalStarted', 2, { plan: 'starter' }, /: its plan is starter, should be team/],
  [
    'a catalog that has it not',
    'RenewalStarted',
    2,
    { catalogVersion: 2 },
    /names plan team of the catalog 2, which has none/,
  ],
  [
    'a longer period',
    'RenewalStarted',
    2,
    { periodEnd: '2027-01-31T10:00:00.000Z' },
    /: its period is .* should be .* to 2027-01-30/,
  ],
  ['a longer grace', 'RenewalStarted', 2, { graceUntil: NEXT }, /: the end of its grace is/],
  [
    'a period that is paid',
    'RenewalStarted',
    2,
    { periodStart: AT, periodEnd: END },
    /: begins is .* should be .* or later/,
  ],
  ['a time after it', 'RenewalStarted', 2, { startedAt: NEXT }, /: is begun is .* should be before 2027-01-30/],
  ['a time before it', 'RenewalStarted', 2, { startedAt: MID }, /: is begun is .* should be .* or later/],
  [
    'another price of the rest',
    'RenewalStarted',
    1,
    { price: usd(180_000_000) },
    /upgrade_.*: its price is 180\.000000 USD, should be 90/,
  ],
  [
    'other credits of the rest',
    'RenewalStarted',
    1,
    { credits: usd(117_500_001) },
    /upgrade_.*: its credits is 117\.500001 USD/,
  ],
  ['a rest beyond the period', 'RenewalStarted', 1, { periodEnd: NEXT }, /upgrade_.*: the end of its period is/],
  ['credits that never end', 'CreditsGranted', 2, { expiresAt: null }, /expiresAt of its CreditsGranted/],
  [
    'credits of another source',
    'CreditsGranted',
    0,
    { source: 'purchase' },
    /source of its CreditsGranted is purchase/,
  ],
])('tells of a plan with %s', (_what, type, nth, data, fault) => {
  expect(faultsOf(changed(type, nth, data))).toContainEqual(expect.stringMatching(fault));
});

it('tells of a plan that ended unpaid though nobody has answered its newest attempt', () => {
  const until = (provider: string): AccountEvent[] => changed('RenewalStarted', 2, { provider }).slice(0, -2);
  const claim = until('stripe').at(-1);
  if (claim?.type !== 'RenewalStarted') throw new Error('a renewal is not claimed');
  const { attemptId, graceUntil: at } = claim.data;
  const end: AccountEvent = { type: 'PlanEnded', data: { plan: 'team', reason: 'unpaid', at } };
  const unanswered = `plan team: has ended unpaid, and ${attemptId} was never answered`;
  expect(faultsOf([...until('manual'), end])).toEqual([]);
  expect(faultsOf([...until('stripe'), end])).toEqual([expect.stringContaining(unanswered)]);
  const givenUp: AccountEvent = {
    type: 'PaymentAbandoned',
    data: { attemptId, reason: 'an outage', at: END, endedBy: null },
  };
  expect(faultsOf([...until('stripe'), givenUp, end])).toEqual([expect.stringContaining(unanswered)]);
  const failed = { attemptId, code: 'card_declined', isTerminal: true, failedAt: END, nextAttemptAt: null };
  expect(faultsOf([...until('stripe'), { type: 'PaymentFailed', data: failed }, end])).toEqual([]);
});

it('tells of a plan of another product, and of one that begins anew while it is paid', () => {
  const [account, ...others] = life();
  const foreign = { ...account, data: { ...account?.data, product: 'agents' } } as AccountEvent;
  expect(faultsOf([foreign, ...others])).toContainEqual(
    expect.stringMatching(/plan starter: its product is gateway, should be agents/),
  );
  expect(faultsOf([foreign, ...others])).toContainEqual(
    expect.stringMatching(/the product of its plan is gateway, should be agents/),
  );
  const anew = changed('PlanChanged', 0, {}).flatMap((event): AccountEvent[] =>
    event.type === 'PlanChanged' && event.data.terms !== null && event.data.plan === 'starter'
      ? [{ ...event, data: { ...event.data, terms: { ...event.data.terms, anchorAt: MID } } }]
      : [],
  );
  expect(faultsOf([...life(), ...anew])).toContainEqual(expect.stringMatching(/begins anew, and team is paid until/));
});

it('takes what was paid in a period, and is told when that is over, as bought, and tells of it as the plan’s', () => {
  const asked = [
    opened,
    ...given(opened).decided({ type: 'ChangePlan', plan: 'starter', reason: 'x', by: 'x', ...renewing(AT) }),
  ];
  const claim = asked.findLast(({ type }) => type === 'RenewalStarted')?.data as EventData<'RenewalStarted'>;
  const { attemptId, provider, price: amount } = claim;
  const paidBy = (nowMs: number) =>
    given(...asked).decided({
      ...{ type: 'RecordPayment', attemptId, provider, paymentId: paymentId('pi_1'), amount, paidAtMs: ms(MID), nowMs },
    });
  const told = (recordedAt: string, events: AccountEvent[]) =>
    faultsOf([...asked, ...events], (event) => ({
      ...event,
      metadata: {
        ...event.metadata,
        commandId: event.metadata?.commandId ?? '',
        recordedAt: event.revision > 2 ? recordedAt : AT,
      },
    })).filter((fault) => !fault.includes('recorded at another time'));
  const [inTime, late] = [paidBy(ms(MID)), paidBy(ms(NEXT))];
  expect([inTime, late].map((events) => events.at(-1)?.data)).toMatchObject([
    { source: 'plan', effectiveAt: MID, expiresAt: END },
    { source: 'purchase', effectiveAt: MID, expiresAt: null },
  ]);
  expect([told(MID, inTime), told(NEXT, late)]).toEqual([[], []]);
  const ofSource = expect.stringContaining('source of its CreditsGranted is');
  expect(told(NEXT, inTime)).toContainEqual(ofSource);
  expect(told(MID, late)).toContainEqual(ofSource);
  // About its end it may be either.
  expect([told(END, inTime), told(END, late)]).toEqual([[], []]);
});

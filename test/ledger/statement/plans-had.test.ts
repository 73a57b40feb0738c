import { expect, it } from 'vitest';
import { PlansHad } from '../../../ledger/statement/plans-had.ts';
import { granted, ms } from '../../fixtures/ledger/example-account.ts';
import { AT, asks, DAY, END, type Life, life, looks } from '../account/plan-life.ts';

/** How the end of each plan of a life is told where it was never in force. */
function endsOf({ events }: Life): (string | null)[] {
  const plans = new PlansHad();
  return events.flatMap((event) => {
    plans.take(event);
    return event.type === 'PlanEnded' ? [plans.sentenceOf(event)] : [];
  });
}
const end = (nowMs: number) => ({ type: 'EndPlan', reason: 'x', by: 'x', nowMs }) as const;
const late = ms(END) + 40 * DAY;
const UNPAID = 'plan starter never began: its first payment was not made in time';
const CALLED_OFF = 'plan starter never began: it was not wanted any more before it was paid';

it.each([
  ['that was never paid', () => life().does(asks('starter'), looks(ms(AT) + 8 * DAY)), [UNPAID]],
  ['that was called off before', () => life().does(asks('starter'), end(ms(AT) + 1)), [CALLED_OFF]],
  [
    'that was paid once, and no more',
    () => life().does(asks('starter')).pays(AT).does(looks(END), looks(late)),
    [null],
  ],
  [
    'that was paid, and called off',
    () =>
      life()
        .does(asks('starter'))
        .pays(AT)
        .does(end(ms(END))),
    [null],
  ],
  ['that costs nothing', () => life().does(asks('open-source'), end(ms(AT) + 1)), [null]],
  [
    'that is asked for again after one that was had, and is not paid',
    () =>
      life()
        .does(asks('starter'))
        .pays(AT)
        .does(end(ms(END)), asks('starter', END), looks(ms(END) + 8 * DAY)),
    [null, UNPAID],
  ],
  [
    'whose first payment comes too late',
    () =>
      life()
        .does(asks('starter'), looks(ms(AT) + 8 * DAY))
        .pays(END)
        .does(asks('starter', END), end(ms(END) + 1)),
    [UNPAID, CALLED_OFF],
  ],
  [
    'in whose place another was asked for before it was paid',
    () =>
      life()
        .does(asks('team'))
        .declined(ms(AT))
        .does(end(ms(AT) + 1), asks('starter', END), end(ms(END) + 1)),
    ['plan team never began: it was not wanted any more before it was paid', CALLED_OFF],
  ],
] as const)('a plan %s ends in its own words', (_which, lifeOf, told) => {
  expect(endsOf(lifeOf())).toEqual(told);
});

/** Those that are shown of an account that has none. */
const shownOf = ({ events }: Life): string[] => {
  const plans = new PlansHad();
  for (const event of events) plans.take(event);
  return plans.ends.map(({ plan, reason, wasInForce }) => `${plan} ${reason}${wasInForce ? '' : ', never in force'}`);
};

it('the end of the one that was in force stays, and of those that were asked for since and never were the last', () => {
  const had = () =>
    life()
      .does(asks('starter'))
      .pays(AT)
      .does(end(ms(END)));
  const again = ms(END) + 15 * DAY;
  expect(shownOf(had())).toEqual(['starter cancelled']);
  const asked = had()
    .does(asks('team', END))
    .givenUp(ms(END) + DAY)
    .does(looks(again));
  expect(shownOf(asked)).toEqual(['starter cancelled', 'team unpaid, never in force']);
  const askedAgain = asked.does(asks('starter', new Date(again).toISOString()), end(again + 1));
  expect(shownOf(askedAgain)).toEqual(['starter cancelled', 'starter cancelled, never in force']);
});

it('nothing of before is shown once another has begun', () => {
  const free = life()
    .does(asks('starter'))
    .pays(AT)
    .does(end(ms(END)), asks('open-source', END));
  expect(shownOf(free)).toEqual([]);
  expect(shownOf(free.does(end(ms(END) + 1)))).toEqual(['open-source cancelled']);
});

it('what an operator of before has granted for a plan begins none, though its id is like that of a payment', () => {
  const { events } = life().does(asks('starter'), looks(ms(AT) + 8 * DAY));
  const byHand = granted('payment_pi_1', 1, { source: 'plan' });
  expect(shownOf({ events: [...events.slice(0, -1), byHand, ...events.slice(-1)] } as unknown as Life)).toEqual([
    'starter unpaid, never in force',
  ]);
});

import { expect, it } from 'vitest';
import { PlansHad } from '../../../ledger/statement/plans-had.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
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

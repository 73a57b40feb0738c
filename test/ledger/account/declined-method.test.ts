import { describe, expect, it } from 'vitest';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { methodFor } from '../../../ledger/account/method-for.ts';
import { attemptOf } from '../../../ledger/account/payments.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
import { AT, asks, DAY, END, Life, life, online, onStarter } from './plan-life.ts';

const instant = (atMs: number): string => new Date(atMs).toISOString();
const save = (paymentMethodId: string): AccountCommand => ({
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId, brand: 'visa', last4: '4242' },
  ...{ consentedAtMs: ms(END), by: 'owner@example.com' },
});

describe('a plan', () => {
  it('is charged to a saved method no more once that was declined for good, or too often in 30 days, whoever asks', () => {
    const charged = (at: number, plan = 'starter'): AccountCommand => ({
      ...(asks(plan, instant(at)) as CommandOf<'ChangePlan'>),
      provider: 'stripe',
    });
    const lost = life()
      .does(save('pm_lost'), charged(ms(END)))
      .declined(ms(END), true);
    given(...lost.events).refuses(
      charged(ms(END) + 1),
      'payment_method_declined',
      /visa ending in 4242, was declined, .*save another one/,
    );
    const anew = new Life(...lost.events).does({ type: 'EndPlan', reason: 'x', by: 'x', nowMs: ms(END) + 2 });
    given(...anew.events).refuses(charged(ms(END) + 3, 'team'), 'payment_method_declined', /save another/);
    // What an operator is told of, and another method, is none of it.
    expect(new Life(...anew.events).does(asks('team', instant(ms(END) + 3))).claims.length).toBe(2);
    expect(anew.does(save('pm_new'), charged(ms(END) + 3, 'team')).claims.length).toBe(2);
    const often = life().does(save('pm'));
    for (let time = 0; time < 15; time++) often.does(charged(ms(END) + time)).declined(ms(END) + time);
    given(...often.events).refuses(
      charged(ms(END) + 15),
      'payment_method_declined',
      /was declined 15 times in 30 days/,
    );
    expect([often.claims.length, often.faults]).toEqual([15, []]);
    // A month later it may be again.
    const later = often.does({ type: 'EndPlan', reason: 'x', by: 'x', nowMs: ms(END) + 16 });
    const month = ms(END) + 30 * DAY;
    given(...later.events).refuses(charged(month - 1), 'payment_method_declined', /15 times/);
    expect(later.does(charged(month)).claims.length).toBe(16);
    expect(later.faults).toEqual([]);
  });

  it('that begins by itself waits, uncharged, for another method than the one that was declined for good', () => {
    const methodNow = (one: Life): string | undefined => {
      const attempt = attemptOf(one.state.billing.payments, one.claims.at(-1)?.attemptId ?? '');
      return attempt === undefined ? undefined : methodFor(one.state, attempt)?.paymentMethodId;
    };
    const mid = ms(AT) + 10 * DAY;
    const dearer = { ...(asks('team', instant(mid)) as CommandOf<'ChangePlan'>), provider: 'stripe' };
    const one = onStarter().does(save('pm_lost'), dearer);
    expect(methodNow(one)).toBe('pm_lost');
    one.declined(mid, true).does(online(ms(END)));
    expect([one.claims.length, methodNow(one)]).toEqual([3, undefined]);
    expect(methodNow(one.does(save('pm_new')))).toBe('pm_new');
    expect(one.faults).toEqual([]);
  });
});

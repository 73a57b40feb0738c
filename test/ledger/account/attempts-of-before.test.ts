import { describe, expect, it } from 'vitest';
import { attemptId } from '../../../contracts/ids.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { accountUpcaster } from '../../../ledger/account/stored-account.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
import { textWithParts } from '../../fixtures/ledger/whole-account.ts';
import { DAY, END, Life, online, onStarter } from './plan-life.ts';

const AT_END = ms(END);
const HOUR = DAY / 24;
const save = (paymentMethodId: string, at: number): AccountCommand => ({
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId, brand: 'visa', last4: '4242' },
  ...{ consentedAtMs: at, by: 'owner@example.com' },
});

/** As the views of before have it, which did not say with which method an attempt was begun. */
function asOfBefore(life: Life): OpenAccount {
  const whole = JSON.parse(textWithParts(life.state));
  for (const attempt of Object.values<Record<string, unknown>>(whole.billing.payments.attempts)) {
    delete attempt.paymentMethodId;
    delete attempt.decline;
  }
  const upcast = accountUpcaster(17)?.(JSON.stringify(whole)) ?? null;
  if (upcast === null) throw new Error('it is not read');
  return upcast;
}

const eventsOf = (command: AccountCommand, state: OpenAccount) => {
  const decision = decide(command, state);
  if (!Array.isArray(decision)) throw new Error(decision.message);
  return decision;
};

describe('behind views that do not say with which payment method an attempt was begun', () => {
  it.each([
    ['saved since', (life: Life) => life.does(online(AT_END), save('pm', AT_END + 1))],
    [
      'saved again',
      (life: Life) =>
        life.does(save('pm', AT_END - 1), online(AT_END), save('pm_2', AT_END + 1), save('pm', AT_END + 2)),
    ],
  ])('a card that was declined for good, %s, is not charged by itself, nor the plan ended', (_, begun) => {
    const one = begun(onStarter()).declined(AT_END + HOUR, true);
    for (const at of [AT_END + HOUR, AT_END + 2 * HOUR, AT_END + 8 * DAY])
      expect(eventsOf(online(at), asOfBefore(one))).toEqual([]);
  });

  it('a card that is declined is tried again as the event says, and the audit finds nothing', () => {
    const one = onStarter().does(online(AT_END), save('pm', AT_END + 1));
    for (const isTerminal of [false, true]) {
      const state = asOfBefore(one);
      const failed = eventsOf(
        {
          ...{ type: 'RecordPaymentFailure', attemptId: attemptId(one.claims.at(-1)?.attemptId ?? '') },
          ...{ code: 'stolen_card', isTerminal, nowMs: AT_END + HOUR },
        },
        state,
      );
      const nextAttemptAt = isTerminal ? null : new Date(AT_END + HOUR + DAY).toISOString();
      expect(failed).toMatchObject([{ type: 'PaymentFailed', data: { nextAttemptAt } }]);
      expect(new Life(...one.events, ...failed).faults).toEqual([]);
      expect(eventsOf(online(AT_END + HOUR), failed.reduce(evolve, state))).toEqual([]);
    }
  });

  it('another card is charged where it was saved behind the decline, also past its grace, and what nobody has answered is tried again', () => {
    const declined = onStarter()
      .does(save('pm_old', AT_END - 1), online(AT_END))
      .declined(AT_END + 1, true)
      .does(save('pm_new', AT_END + 2));
    for (const at of [AT_END + 2, AT_END + 8 * DAY])
      expect(eventsOf(online(at), asOfBefore(declined))).toMatchObject([{ type: 'RenewalStarted' }]);
    const unanswered = onStarter()
      .does(online(AT_END), save('pm', AT_END + 1))
      .givenUp(AT_END + 2);
    expect(eventsOf(online(AT_END + DAY - 1), asOfBefore(unanswered))).toEqual([]);
    expect(eventsOf(online(AT_END + DAY), asOfBefore(unanswered))).toMatchObject([{ type: 'RenewalStarted' }]);
  });
});

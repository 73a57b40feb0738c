import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../../contracts/events.ts';
import { attemptId } from '../../../../contracts/ids.ts';
import type { AccountCommand } from '../../../../ledger/account/commands.ts';
import { paymentFacts } from '../../../../proxy/program/accounts/payments-shown.ts';
import { given } from '../../../fixtures/ledger/decider-specification.ts';
import {
  keyIssued,
  lifeWith,
  ms,
  openAccount,
  opened,
  usageOf,
  usd,
} from '../../../fixtures/ledger/example-account.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const HOUR = 3_600_000;
function lived(life: readonly AccountEvent[], ...commands: readonly AccountCommand[]): AccountEvent[] {
  const events = [...life];
  for (const command of commands) events.push(...given(...events).decided(command));
  return events;
}
const configure = (consentedAtMs: number | null): AccountCommand => ({
  ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000), monthlyCap: usd(50_000_000) },
  ...{ consentedAtMs, by: 'owner@example.com' },
});
const save: AccountCommand = {
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus_1', paymentMethodId: 'pm_1', brand: 'visa' },
  ...{ last4: '4242', consentedAtMs: NOW, by: 'owner@example.com' },
};
const reload = (id: string): AccountCommand => ({
  ...{ type: 'StartAutoReload', attemptId: attemptId(id), provider: 'stripe', nowMs: NOW },
});
const fail = (id: string, isTerminal: boolean): AccountCommand => ({
  ...{ type: 'RecordPaymentFailure', attemptId: attemptId(id), code: 'card_declined', isTerminal, nowMs: NOW },
});
const on = lived([opened], configure(NOW), save);
const started = lived(on, reload('r1'));
const factsOf = (life: readonly AccountEvent[], nowMs = NOW, seesPayments = true) =>
  Object.fromEntries(paymentFacts(openAccount(life), { nowMs, seesPayments }));
const terms = 'at 5.000000 USD up to 20.000000 USD, 0.000000 USD of at most 50.000000 USD in 2026-11';

it('says nothing of an account that has never paid and owes nothing', () => {
  expect(factsOf([opened])).toEqual({});
});

it('says what is owed, what is saved, and what is open', () => {
  const owed = lifeWith([opened, keyIssued()], usageOf(1, 7));
  for (const seesPayments of [true, false])
    expect(factsOf(owed, NOW, seesPayments)).toEqual({ owed: '0.000007 USD, which the next credits fill first' });
  expect(factsOf(started, NOW, false)).toEqual({});
  expect(factsOf(lived([opened], configure(NOW)))).toEqual({
    'pays by itself': 'nothing saved',
    'auto-reload': `on; ${terms}`,
  });
  expect(factsOf(started)).toEqual({
    'pays by itself': 'visa ending in 4242 (stripe), by consent of 2026-11-20T10:00:00.000Z',
    'auto-reload': `on; ${terms.replace('0.000000 USD of', '20.000000 USD of')}`,
    payment: 'r1 (reload, stripe) of 20.000000 USD for 20.000000 USD: open since 2026-11-20T10:00:00.000Z',
  });
});

it('says how auto-reload stands', () => {
  const standing = (life: readonly AccountEvent[], nowMs = NOW) => factsOf(life, nowMs)['auto-reload']?.split(';')[0];
  expect(standing(lived([opened], configure(null)))).toBe('off');
  expect(standing(on)).toBe('on');
  const failed = lived(started, fail('r1', false));
  expect(standing(failed)).toBe('the last one failed, not before 2026-11-20T11:00:00.000Z');
  expect(standing(failed, NOW + HOUR)).toBe('on');
  expect(standing(lived(started, fail('r1', true)))).toBe('paused: card_declined');
  expect(standing(lived([opened], configure(NOW), reload('r1')))).toBe('not begun: no payment method is saved');
});

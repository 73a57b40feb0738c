import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { attemptOf } from '../../../ledger/account/payments.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  grant,
  granted,
  keyIssued,
  lifeWith,
  ms,
  OPENED_AT,
  openAccount,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { PLANS } from '../../fixtures/ledger/example-plan-events.ts';
import { faultsOf } from '../audit/account-faults.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const AT = new Date(NOW).toISOString();
const ATTEMPT = attemptId('purchase_1');
const PAYMENT = paymentId('pi_1');
const start = (change: Partial<CommandOf<'StartPurchase'>> = {}): AccountCommand => ({
  ...{ type: 'StartPurchase', attemptId: ATTEMPT, provider: 'manual', amount: usd(20), price: usd(18), by: 'operator' },
  ...{ nowMs: NOW, ...change },
});
const started: AccountEvent = {
  type: 'PurchaseStarted',
  data: {
    ...{ attemptId: ATTEMPT, provider: 'manual', amount: usd(20), price: usd(18), by: 'operator' },
    startedAt: AT,
  },
};
const pay = (change: Partial<CommandOf<'RecordPayment'>> = {}): AccountCommand => ({
  ...{ type: 'RecordPayment', attemptId: ATTEMPT, provider: 'manual', paymentId: PAYMENT, amount: usd(18) },
  ...{ paidAtMs: NOW - 5_000, nowMs: NOW, ...change },
});
const paid: AccountEvent[] = [
  {
    type: 'PaymentSucceeded',
    data: {
      ...{ attemptId: ATTEMPT, provider: 'manual', paymentId: PAYMENT, amount: usd(18) },
      paidAt: new Date(NOW - 5_000).toISOString(),
    },
  },
  granted('payment_pi_1', 20, { costBasis: usd(18), effectiveAt: AT }),
];
const fail: AccountCommand = {
  ...{ type: 'RecordPaymentFailure', attemptId: ATTEMPT, code: 'card_declined', isTerminal: false, nowMs: NOW },
};
const failed: AccountEvent = {
  type: 'PaymentFailed',
  data: { attemptId: ATTEMPT, code: 'card_declined', isTerminal: false, failedAt: AT, nextAttemptAt: null },
};
const abandon: AccountCommand = { type: 'AbandonPayment', attemptId: ATTEMPT, reason: 'it expired', nowMs: NOW };
const abandoned: AccountEvent = {
  type: 'PaymentAbandoned',
  data: { attemptId: ATTEMPT, reason: 'it expired', at: AT, endedBy: null },
};
const act: AccountCommand = { type: 'RequirePaymentAction', attemptId: ATTEMPT, paymentId: PAYMENT, nowMs: NOW };
const action: AccountEvent = {
  type: 'PaymentActionRequired',
  data: { attemptId: ATTEMPT, paymentId: PAYMENT, at: AT },
};

describe('a purchase', () => {
  test('is claimed once: the same again is done already, under its id nothing else begins, and no other beside it', () => {
    given(opened).decides(start(), started);
    given(opened, started).decides(start());
    given(opened, started, ...paid).decides(start());
    for (const change of [{ amount: usd(21) }, { price: usd(19) }, { provider: 'stripe' }])
      given(opened, started).refuses(start(change), 'id_reused');
    for (const open of [[started], [started, action]])
      given(opened, ...open).refuses(
        start({ attemptId: attemptId('other') }),
        'attempt_open',
        /purchase_1 of 0\.00002/,
      );
  });

  test('may follow one that has ended, however it ended', () => {
    const other = { attemptId: attemptId('other') };
    for (const end of [paid, [failed], [abandoned]])
      given(opened, started, ...end).decides(start(other), {
        ...started,
        data: { ...started.data, ...other },
      } as never);
  });

  test('of nothing, or for nothing, is none', () => {
    given(opened).refuses(start({ amount: usd(0) }), 'invalid_amount', /^amount: /);
    given(opened).refuses(start({ price: usd(0) }), 'invalid_amount', /^price: /);
  });

  test('is refused before it is paid where no debit could name its grant, and granted in any case once it is', () => {
    const life: AccountEvent[] = [opened];
    for (let number = 0; !('type' in decide(grant(`${number}${'g'.repeat(1_990)}`, 5), fold(life))); number++)
      life.push(granted(`${number}${'g'.repeat(1_990)}`, 5));
    while (!('type' in decide(grant(`${life.length}`, 5), fold(life)))) life.push(granted(`${life.length}`, 5));
    given(...life).refuses(start(), 'too_many_grants');
    given(...life, started).decides(pay(), ...paid);
  });
});

describe('a payment', () => {
  test('is written down in one append with its credits, and fills what is owed', () => {
    given(opened, started).decides(pay(), ...paid);
    const owing = lifeWith([opened, keyIssued()], usageOf(1, 5));
    const account = openAccount([...owing, started, ...paid]);
    expect(account).toMatchObject({ balance: 15n, uncovered: 0n });
    expect(account.grants).toMatchObject([{ grantId: 'payment_pi_1', remaining: 15n, costBasis: 18n }]);
    expect(attemptOf(account.billing.payments, 'purchase_1')).toMatchObject({ state: 'paid', paymentId: 'pi_1' });
  });

  test.each([
    ['as it was made, which is told later', NOW + 5_000, NOW + 5_000],
    ['no earlier than it was begun, by a clock that is behind', NOW - 5_000, NOW],
    ['as it is told, by one that is ahead', NOW + 20_000, NOW + 10_000],
  ])('brings credits that begin %s', (_what, paidAtMs, fromMs) => {
    const told = given(opened, started).decided(pay({ paidAtMs, nowMs: NOW + 10_000 }));
    const [paidAt, effectiveAt] = [paidAtMs, fromMs].map((atMs) => new Date(atMs).toISOString());
    expect(told).toMatchObject([{ data: { paidAt } }, { data: { effectiveAt } }]);
    expect(faultsOf([opened, started, ...told])).toEqual([]);
  });

  test('counts once, however often and after whatever it is told', () => {
    for (const between of [[], [action]]) {
      given(opened, started, ...between).decides(pay(), ...paid);
      given(opened, started, ...between, ...paid).decides(pay());
    }
  });

  test('is not lost where its attempt was given up before', () => {
    for (const end of [failed, abandoned]) given(opened, started, end).decides(pay(), ...paid);
  });

  test('that is another than was begun is refused: of another amount, provider, or once more', () => {
    given(opened, started).refuses(
      pay({ amount: usd(17) }),
      'payment_differs',
      /is 0\.000017 USD at manual: refund that/,
    );
    given(opened, started).refuses(pay({ provider: 'stripe' }), 'payment_differs');
    given(opened, started, ...paid).refuses(pay({ paymentId: paymentId('pi_2') }), 'payment_differs', /refund that/);
    given(opened).refuses(pay(), 'attempt_not_found');
  });

  test('pays one attempt alone; told of another of its period that is not known any more it is done already', () => {
    const [, asked, begun] = PLANS as AccountEvent[];
    if (asked === undefined || begun?.type !== 'RenewalStarted') throw new Error('no plan is asked for');
    const { attemptId: renewal, price: amount } = begun.data;
    const of = (id: string, paymentOf = PAYMENT) =>
      pay({ attemptId: attemptId(id), amount, paymentId: paymentOf, nowMs: ms(begun.data.startedAt) });
    const life = [opened, asked, begun];
    life.push(...given(...life).decided(of(renewal)));
    for (const id of [renewal, `${renewal}_2`, `${renewal}_13`]) given(...life).decides(of(id));
    for (const id of [`${renewal}_x`, 'renewal_2026-12-20T10:00:00.000Z_2', ATTEMPT])
      given(...life).refuses(of(id), 'attempt_not_found');
    given(...life).refuses(of(`${renewal}_2`, paymentId('pi_2')), 'attempt_not_found');
    const again: AccountEvent = { ...begun, data: { ...begun.data, attemptId: attemptId(`${renewal}_2`) } };
    given(...life, again).refuses(of(`${renewal}_2`), 'payment_differs', /pi_1 has paid renewal_.*, and pays nothing/);
  });

  test('is not lost where an operator of before has granted under its id: its credits have another', () => {
    const [succeeded, credits] = paid;
    if (succeeded === undefined || credits?.type !== 'CreditsGranted') throw new Error('nothing was paid');
    const byHand = granted('payment_pi_1', 1);
    const under = (id: string): AccountEvent => ({ ...credits, data: { ...credits.data, grantId: grantId(id) } });
    given(opened, started, byHand).decides(pay(), succeeded, under('payment_~pi_1'));
    const life = [opened, started, byHand, succeeded, under('payment_~pi_1')];
    given(...life).decides(pay());
    expect(faultsOf(life)).toEqual([]);
    expect(faultsOf([opened, started, byHand, succeeded, under('payment_pi_2')])).toEqual([
      expect.stringMatching(/payment_~pi_1: grantId of its CreditsGranted is payment_pi_2, should be payment_~pi_1$/),
    ]);
    given(opened, started, byHand, granted('payment_~pi_1', 1)).refuses(pay(), 'grant_exists');
  });
});

describe('what else becomes of an attempt', () => {
  test.each([
    ['a failure', fail, failed],
    ['that it never charged', abandon, abandoned],
    ['that it waits for whoever pays', act, action],
  ] as const)('%s is written down once, while it is open, and says nothing after its end', (_what, command, event) => {
    given(opened, started).decides(command, event);
    given(opened, started, event).decides(command);
    for (const end of [paid, [failed], [abandoned]]) given(opened, started, ...end).decides(command);
    given(opened).refuses(command, 'attempt_not_found');
  });

  test('an attempt that waits for whoever pays may be paid, fail or be given up', () => {
    given(opened, started, action).decides(fail, failed);
    given(opened, started, action).decides(abandon, abandoned);
    given(opened, started, action).decides({ ...abandon, type: 'EndPurchase' }, abandoned);
  });
});

test('a payment method is saved with consent, replaced by another, and removed once', () => {
  const saved = { provider: 'stripe', customerId: 'cus_1', paymentMethodId: 'pm_1', brand: 'visa', last4: '4242' };
  const save: AccountCommand = { type: 'SavePaymentMethod', ...saved, consentedAtMs: ms(OPENED_AT), by: 'owner' };
  const event: AccountEvent = {
    type: 'PaymentMethodSaved',
    data: { ...saved, consentedAt: OPENED_AT, by: 'owner' },
  };
  const savedAt = (at: string): AccountEvent =>
    ({ ...event, data: { ...event.data, consentedAt: at } }) as AccountEvent;
  given(opened).decides(save, event);
  given(opened, event).decides(save);
  const other = { ...event, data: { ...event.data, paymentMethodId: 'pm_2' } } as AccountEvent;
  given(opened, event).decides({ ...save, paymentMethodId: 'pm_2' }, other);
  // Told again, or late.
  given(opened, event).decides({ ...save, paymentMethodId: 'pm_0', consentedAtMs: ms(OPENED_AT) - 1 });
  const remove: AccountCommand = { type: 'RemovePaymentMethod', by: 'owner', nowMs: NOW };
  const removed: AccountEvent = {
    type: 'PaymentMethodRemoved',
    data: { provider: 'stripe', paymentMethodId: 'pm_2', removedAt: AT, by: 'owner' },
  };
  given(opened, event, other).decides(remove, removed);
  given(opened, event, other, removed).decides(remove);
  expect(openAccount([opened, event, other, removed]).billing.payments.method).toBeNull();
  // What was consented to before it was withdrawn, told once more.
  given(opened, event, other, removed).decides({ ...save, consentedAtMs: NOW - 1 });
  given(opened, event, other, removed).decides({ ...save, consentedAtMs: NOW }, savedAt(AT));
  expect(faultsOf([opened, event, other, removed, savedAt(AT)])).toEqual([]);
  expect(faultsOf([opened, event, other, removed, event])).toEqual([
    expect.stringMatching(/pm_1: saved by the consent of .*, and withdrawn at /),
  ]);
});

test('an outcome of an attempt that was never begun cannot follow', () => {
  for (const event of [...paid.slice(0, 1), failed, abandoned, action])
    expect(() => fold([opened, event])).toThrow(/purchase_1, which was never begun$/);
});

import { expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId, keyId, leaseId, proxyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { INITIAL_SPEND, type OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { NO_EXCEPTIONS } from '../../../ledger/account/exceptions-state.ts';
import { withEntry } from '../../../ledger/account/keyed-tree.ts';
import { keysAsIssued } from '../../../ledger/account/members.ts';
import { allAttempts, attemptOf } from '../../../ledger/account/payments.ts';
import { isOfMethodBefore, isOfUnknownMethod } from '../../../ledger/account/payments-state.ts';
import { accountUpcaster } from '../../../ledger/account/stored-account.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  keyIssued,
  ms,
  OPENED_AT,
  openAccount,
  opened,
  requestOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { catalogOf, subscribed, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { ofWholeText, textWithParts, wholeText } from '../../fixtures/ledger/whole-account.ts';

const ONE = microUsd(1n);
const HOUR = 3_600_000;
const LEASE: OpenAccount['leases'][string] = {
  ...{ leaseId: leaseId('l'), proxy: proxyId('proxy_a'), epoch: 0, keyId: null, amount: ONE, beforeLimit: {} },
  ...{ expiresAtMs: 1, requestsFromMs: null, requestsBeforeMs: null },
};
const account = openAccount([opened, granted('g', 7), keyIssued()]);
/** One thing more than a new account has. */
const ONE_MORE: readonly Partial<OpenAccount>[] = [
  {},
  { leases: { l: LEASE } },
  { spend: { ...INITIAL_SPEND, accountLimit: ONE } },
  { spend: { ...INITIAL_SPEND, keyLimits: withEntry(null, 'k', ONE) } },
  {
    spend: {
      ...INITIAL_SPEND,
      months: { '2026-10': { account: ONE, keys: withEntry(null, 'k', ONE), members: null, crossed: ['k:50'] } },
    },
  },
  { spend: { ...INITIAL_SPEND, months: { '2026-11': { account: ONE, keys: null, members: null, crossed: [] } } } },
  { exceptions: { ...NO_EXCEPTIONS, openCount: 1 } },
  { exceptions: { ...NO_EXCEPTIONS, openAmount: ONE } },
  { exceptions: { ...NO_EXCEPTIONS, withoutCost: 1 } },
  { exceptions: { ...NO_EXCEPTIONS, unlisted: 1 } },
  { exceptions: { ...NO_EXCEPTIONS, lastUsage: { requestId: requestOf(1), startedAtMs: 1, finishedAtMs: 2 } } },
];

test.each(ONE_MORE)('an account with %o is what its text says', (more) => {
  const state = { ...account, ...more };
  expect(ofWholeText(wholeText(state))).toStrictEqual(state);
});

test('an account with a plan is what its text says, and one of before there were any has none', () => {
  const state = openAccount([opened, ...subscribed('team')]);
  expect(ofWholeText(wholeText(state))).toStrictEqual(state);
  const { billing, ...others } = JSON.parse(textWithParts(state));
  const { plan: _plan, endedPlan: _ended, payments, ...kept } = billing;
  const rows = Object.entries<Record<string, unknown>>(payments.attempts);
  const attempts = Object.fromEntries(rows.map(([id, { period: _period, ...attempt }]) => [id, attempt]));
  const before = accountUpcaster(8)?.(
    JSON.stringify({ ...others, billing: { ...kept, payments: { ...payments, attempts } } }),
  );
  const read = before?.billing ?? expect.fail('it is not read');
  expect([read.plan, read.endedPlan]).toEqual([null, null]);
  expect(allAttempts(read.payments)).toMatchObject([{ kind: 'renewal', state: 'paid', period: null }]);
});

test('attempts are read in whatever order they are stored, those that are open and the others', () => {
  const begun = (id: string): AccountEvent => ({
    type: 'PurchaseStarted',
    data: {
      ...{ attemptId: attemptId(id), provider: 'manual', amount: ONE, price: ONE, by: 'x' },
      startedAt: OPENED_AT,
    },
  });
  const failed = (id: string): AccountEvent => ({
    type: 'PaymentFailed',
    data: { attemptId: attemptId(id), code: 'x', isTerminal: false, failedAt: OPENED_AT, nextAttemptAt: null },
  });
  const state = openAccount([opened, ...['b', 'c', 'a', 'e', 'd'].map(begun), ...['b', 'e'].map(failed)]);
  const [text, parts] = JSON.parse(wholeText(state));
  const stored = JSON.parse(text);
  expect(Object.keys(stored.billing.payments.attempts)).toEqual(['a', 'c', 'd']);
  const { a, c, d } = stored.billing.payments.attempts;
  stored.billing.payments.attempts = { d, c, a };
  const other = parts.map((part: unknown[]) => part.toReversed());
  expect(ofWholeText(JSON.stringify([JSON.stringify(stored), other]))).toStrictEqual(state);
});

test('keys have numbers in the order in which they were issued, also those of before they had any', () => {
  const issuedLater = ['key_c', 'key_b'].map((id) => keyIssued({ keyId: keyId(id), monthlyLimit: ONE }));
  const state = openAccount([opened, ...issuedLater, keyIssued()]);
  expect(keysAsIssued(state).map((key) => [key.keyId, key.number])).toEqual([
    ['key_c', 0],
    ['key_b', 1],
    ['key_a', 2],
  ]);
  expect(ofWholeText(wholeText(state))).toStrictEqual(state);
  const text = textWithParts(state);
  expect(Object.keys(JSON.parse(text).keys)).toEqual(['key_c', 'key_b', 'key_a']);
  expect(accountUpcaster(17)?.(text)).toStrictEqual(state);
});

test('an account of before removals of payment methods were kept has none', () => {
  const { billing, ...others } = JSON.parse(textWithParts(account));
  const { methodRemovedAtMs: _removed, ...payments } = billing.payments;
  const before = accountUpcaster(10)?.(JSON.stringify({ ...others, billing: { ...billing, payments } }));
  expect(before).toStrictEqual(account);
});

test('what an account of before has asked for as its period ends is over with nothing else', () => {
  const end = { type: 'ChangePlan', plan: 'none', provider: 'stripe', catalog: catalogOf(TEAM) } as const;
  const events = [opened, ...subscribed('team')];
  const asked = given(...events).decided({ ...end, reason: 'x', by: 'x', nowMs: ms('2026-11-21T00:00:00.000Z') });
  const after = openAccount([...events, ...asked]);
  const { billing, ...others } = JSON.parse(textWithParts(after));
  const { upgrade: _, ...plan } = billing.plan;
  const before = (next: unknown): string =>
    JSON.stringify({ ...others, billing: { ...billing, plan: { ...plan, next } } });
  expect(accountUpcaster(11)?.(before(plan.next))).toStrictEqual(after);
  // Any attempt of a plan says which.
  const [unlessPaid] = Object.keys(billing.payments.attempts);
  const dearer = accountUpcaster(13)?.(before({ ...plan.next, unlessPaid }));
  expect(dearer?.billing.plan).toMatchObject({ next: plan.next, upgrade: 'team' });
  for (const one of [openAccount(events), account])
    expect(accountUpcaster(11)?.(textWithParts(one))).toStrictEqual(one);
});

test('an account of before knows not why what its plan costs was declined', () => {
  const events = [opened, ...subscribed('team', '2026-09-20T00:00:00.000Z')];
  const nowMs = ms('2026-10-20T00:00:00.000Z');
  const begun = given(...events).decided({ type: 'StartRenewal', provider: 'stripe', catalog: catalogOf(TEAM), nowMs });
  const renewal = attemptId('renewal_2026-10-20T00:00:00.000Z');
  const declined = given(...events, ...begun).decided({
    ...{ type: 'RecordPaymentFailure', attemptId: renewal, code: 'insufficient_funds', isTerminal: false, nowMs },
  });
  const after = openAccount([...events, ...begun, ...declined]);
  expect(after.billing.plan?.due?.declined).toBe('insufficient_funds');
  expect(ofWholeText(wholeText(after))).toStrictEqual(after);
  const { billing, ...others } = JSON.parse(textWithParts(after));
  const { declined: _, ...due } = billing.plan.due;
  const before = JSON.stringify({ ...others, billing: { ...billing, plan: { ...billing.plan, due } } });
  expect(accountUpcaster(14)?.(before)?.billing.plan).toEqual({
    ...after.billing.plan,
    due: { ...after.billing.plan?.due, declined: null },
  });
  for (const one of [openAccount(events), account])
    expect(accountUpcaster(14)?.(textWithParts(one))).toStrictEqual(one);
});

test('reloads that nobody has answered are counted apart in an account of before, as a fold of its events has them', () => {
  const configure = (consentedAtMs: number, target = usd(20_000_000)): AccountCommand => ({
    ...{ type: 'ConfigureAutoReload', threshold: ONE, target, monthlyCap: usd(90_000_000), consentedAtMs, by: 'x' },
  });
  const startMs = ms('2026-11-01T00:00:00.000Z');
  let events: AccountEvent[] = [opened];
  const live = (command: AccountCommand): void => {
    events = [...events, ...given(...events).decided(command)];
  };
  live(configure(startMs));
  live({
    ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus_1', paymentMethodId: 'pm_1', brand: 'visa' },
    ...{ last4: '4242', consentedAtMs: startMs, by: 'x' },
  });
  const checked = (count: { readonly declines: number; readonly unanswered: number }): void => {
    const after = openAccount(events);
    expect(after.billing.payments.reload).toMatchObject(count);
    const { billing, ...others } = JSON.parse(textWithParts(after));
    const { unanswered, ...reload } = billing.payments.reload;
    const together = { ...reload, declines: reload.declines + unanswered };
    const payments = { ...billing.payments, reload: together };
    const before = JSON.stringify({ ...others, billing: { ...billing, payments } });
    expect(accountUpcaster(15)?.(before)).toStrictEqual(after);
  };
  const inVain = (id: string, hours: number, provider: string, isDeclined: boolean): void => {
    const nowMs = startMs + hours * HOUR;
    const of = { attemptId: attemptId(id), nowMs };
    live({ type: 'StartAutoReload', provider, ...of });
    live(
      isDeclined
        ? { type: 'RecordPaymentFailure', code: 'card_declined', isTerminal: false, ...of }
        : { type: 'AbandonPayment', reason: 'x', ...of },
    );
  };
  checked({ declines: 0, unanswered: 0 });
  inVain('a', 0, 'manual', false);
  inVain('b', 10, 'stripe', false);
  inVain('c', 20, 'stripe', true);
  checked({ declines: 2, unanswered: 1 });
  // Of other terms nothing has come to nothing yet, and what is begun by those that were is none of theirs.
  live({ type: 'StartAutoReload', attemptId: attemptId('d'), provider: 'stripe', nowMs: startMs + 30 * HOUR });
  live(configure(startMs + 31 * HOUR, usd(15_000_000)));
  live({ type: 'AbandonPayment', attemptId: attemptId('d'), reason: 'x', nowMs: startMs + 32 * HOUR });
  checked({ declines: 0, unanswered: 0 });
  inVain('e', 40, 'stripe', false);
  checked({ declines: 0, unanswered: 1 });
  expect(accountUpcaster(15)?.(textWithParts(account))).toStrictEqual(account);
});

test('of a revocation of before others paid at once for one nobody has', () => {
  const revocation = {
    revocationId: 'r',
    grantId: grantId('g'),
    cause: 'refund' as const,
    paymentId: null,
    restorations: [],
  };
  const amounts = { amount: ONE, taken: microUsd(0n), restored: microUsd(0n) };
  const revocations = [{ ...revocation, ...amounts, setOff: [{ grantId: grantId('h'), amount: ONE }] }];
  const state = { ...account, billing: { ...account.billing, revocations } };
  expect(ofWholeText(wholeText(state))).toStrictEqual(state);
  const { billing, ...others } = JSON.parse(textWithParts(state));
  const { setOff: _, ...before } = billing.revocations[0];
  const text = JSON.stringify({ ...others, billing: { ...billing, revocations: [before] } });
  expect(accountUpcaster(16)?.(text)?.billing.revocations).toEqual([{ ...revocation, ...amounts, setOff: [] }]);
});

test('whether an attempt of before was begun with the method that is saved is known by when that was consented to', () => {
  const at = (hour: number): string => new Date(ms(OPENED_AT) + hour * HOUR).toISOString();
  const saved = (id: string, hour: number): AccountEvent => ({
    type: 'PaymentMethodSaved',
    data: {
      ...{ provider: 'stripe', customerId: 'c', paymentMethodId: id, brand: 'visa', last4: '4242' },
      ...{ consentedAt: at(hour), by: 'x' },
    },
  });
  const removed = (hour: number): AccountEvent => ({
    type: 'PaymentMethodRemoved',
    data: { provider: 'stripe', paymentMethodId: 'pm_1', removedAt: at(hour), by: 'x' },
  });
  const begun = (id: string, hour: number, provider = 'stripe'): AccountEvent => ({
    type: 'AutoReloadStarted',
    data: {
      ...{ attemptId: attemptId(id), provider, amount: ONE, price: ONE, balance: ONE, pending: microUsd(0n) },
      ...{ monthTotal: microUsd(0n), startedAt: at(hour) },
    },
  });
  const failed = (id: string, hour: number): AccountEvent => ({
    type: 'PaymentFailed',
    data: { attemptId: attemptId(id), code: 'x', isTerminal: false, failedAt: at(hour), nextAttemptAt: null },
  });
  const first = [opened, saved('pm_1', 1), begun('a', 2), failed('a', 3)];
  for (const [events, known] of [
    [[opened, ...subscribed('team', undefined, { provider: 'stripe' })], [null]],
    [
      [...first, begun('b', 4)],
      ['pm_1', 'pm_1'],
    ],
    [
      [...first, saved('pm_2', 4), begun('b', 4)],
      ['', 'pm_2'],
    ],
    [[opened, saved('pm_1', 1), begun('a', 2), saved('pm_2', 4)], ['']],
    [[...first, removed(4)], ['']],
    [
      [...first, removed(4), saved('pm_2', 5), begun('b', 6), begun('c', 6, 'manual')],
      ['', 'pm_2', null],
    ],
    [
      [opened, begun('a', 0, 'manual'), saved('pm_1', 1), removed(2), begun('b', 3, 'manual')],
      [null, null],
    ],
  ] as const) {
    const state = openAccount(events);
    const { billing, ...others } = JSON.parse(textWithParts(state));
    const rows = Object.entries<Record<string, unknown>>(billing.payments.attempts);
    const attempts = rows.map(([id, { paymentMethodId: _, decline: _declined, ...attempt }]) => [id, attempt] as const);
    const payments = { ...billing.payments, attempts: Object.fromEntries(attempts) };
    const before = JSON.stringify({ ...others, billing: { ...billing, payments } });
    const upcast = accountUpcaster(17)?.(before) ?? account;
    expect(allAttempts(upcast.billing.payments).map(({ paymentMethodId }) => paymentMethodId)).toEqual(known);
    // What is known of it is as it is by the whole log.
    const { payments: of } = upcast.billing;
    for (const attempt of allAttempts(of)) {
      const whole = attemptOf(state.billing.payments, attempt.attemptId) ?? attempt;
      if (!isOfUnknownMethod(of, attempt))
        expect(isOfMethodBefore(of, attempt)).toBe(isOfMethodBefore(state.billing.payments, whole));
    }
  }
});

test('accounts that have nothing of it share what stands for that', () => {
  const [one, other] = [ofWholeText(wholeText(account)), ofWholeText(wholeText(account))];
  expect(one.grants).not.toBe(other.grants);
  for (const part of ['spend', 'leases', 'exceptions'] as const) expect(one[part]).toBe(other[part]);
});

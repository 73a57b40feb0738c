import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { type AccountId, accountId, attemptId, paymentId, revision } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { type ReloadWait, ReloadWaits } from '../../../proxy/admission/reload-waits.ts';
import { ACCOUNT, granted, keyIssued, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const AT = new Date(NOW).toISOString();
const attempt = attemptId('reload_1');
const STAYS: ReloadWait['client'] = { hasLeft: false, onceLeft: () => () => undefined };

const CONFIGURED: readonly AccountEvent[] = [
  {
    type: 'PaymentMethodSaved',
    data: {
      ...{ provider: 'manual', customerId: 'c', paymentMethodId: 'm', brand: 'sepa', last4: '3000' },
      ...{ consentedAt: AT, by: 'owner@example.com' },
    },
  },
  {
    type: 'AutoReloadConfigured',
    data: {
      ...{ threshold: usd(5_000_000), target: usd(20_000_000), monthlyCap: usd(60_000_000) },
      ...{ consentedAt: AT, by: 'owner@example.com' },
    },
  },
];
const started: AccountEvent = {
  type: 'AutoReloadStarted',
  data: {
    ...{ attemptId: attempt, provider: 'manual', amount: usd(19_000_000), price: usd(19_000_000) },
    ...{ balance: usd(1_000_000), pending: usd(0), monthTotal: usd(0), startedAt: AT },
  },
};
const paid: AccountEvent = {
  type: 'PaymentSucceeded',
  data: {
    ...{ attemptId: attempt, provider: 'manual', paymentId: paymentId('p_1'), amount: usd(19_000_000), paidAt: AT },
  },
};
const abandoned: AccountEvent = { type: 'PaymentAbandoned', data: { attemptId: attempt, reason: 'no', at: AT } };

/** Waits of an account with little left, and whatever has happened to it. */
function scene(events: readonly AccountEvent[], waitMs = LIMITS.reloadWaitMsMax) {
  const accounts = new AccountViews();
  const begun: string[] = [];
  const waits = new ReloadWaits({ accounts, clock: () => NOW, waitMs, begin: (accountId) => begun.push(accountId) });
  const foldOf = (account: AccountId, more: readonly AccountEvent[]): void => {
    for (const event of more) accounts.fold(account, revision(accounts.foldedUpTo(account) + 1), event);
  };
  const life = [opened, keyIssued(), granted('g', 1_000_000), ...events];
  const fold = (...more: readonly AccountEvent[]): void => foldOf(ACCOUNT, more);
  fold(...life);
  /** Another account with the same life. */
  const beginOf = (account: AccountId) => {
    if (accounts.foldedUpTo(account) < 0) foldOf(account, life);
    return waits.begin(account, STAYS);
  };
  return { waits, begun, fold, begin: (client = STAYS) => waits.begin(ACCOUNT, client), beginOf };
}

/** Whether a change has come by the next turn of the event loop. */
async function hasChanged(change: Promise<void>): Promise<boolean> {
  let has = false;
  void change.then(() => {
    has = true;
  });
  await new Promise(setImmediate);
  return has;
}

it.each([
  ['nobody is to wait', [...CONFIGURED, started], 0],
  ['nothing is bought by itself', [], 1_000],
  ['its attempt was paid, and what is left is enough', [...CONFIGURED, started, paid, granted('r', 19_000_000)], 1_000],
])('nothing is waited for where %s', (_where, events, waitMs) => {
  const { begin, begun } = scene(events, waitMs);
  expect([begin(), begun]).toEqual([null, []]);
});

it('nobody waits for a client that has left', () => {
  const { begin } = scene([...CONFIGURED, started]);
  expect(begin({ ...STAYS, hasLeft: true })).toBeNull();
});

it('what the level has begun is begun at once for who waits', () => {
  const { begin, begun } = scene(CONFIGURED);
  expect(begin()).not.toBeNull();
  expect(begun).toEqual([ACCOUNT]);
});

it('who waits is told of what may have changed it: not of a payment before its credits, nor of what others use', async () => {
  const { begin, fold } = scene([...CONFIGURED, started]);
  const wait = begin();
  if (wait === null) throw new Error('it waits');
  const change = wait.change();
  fold(paid);
  expect(await hasChanged(change)).toBe(false);
  fold(granted('r', 19_000_000));
  expect(await hasChanged(change)).toBe(true);
  expect(wait.goesOn()).toBe(false);
  wait.end();
});

it('an attempt that is not paid ends the wait, though another is begun', async () => {
  const { begin, fold } = scene([...CONFIGURED, started]);
  const wait = begin();
  if (wait === null) throw new Error('it waits');
  expect(wait.goesOn()).toBe(true);
  fold(abandoned);
  expect(await hasChanged(wait.change())).toBe(true);
  expect(wait.goesOn()).toBe(false);
  expect(begin()?.goesOn()).toBe(true);
});

it('so many of one account wait, and their places are given back once', () => {
  const { waits, begin } = scene([...CONFIGURED, started]);
  const begun = Array.from({ length: LIMITS.reloadWaitingPerAccountMax }, () => begin());
  expect([begun.includes(null), begin(), waits.count]).toEqual([false, null, LIMITS.reloadWaitingPerAccountMax]);
  begun[0]?.end();
  begun[0]?.end();
  expect(waits.count).toBe(LIMITS.reloadWaitingPerAccountMax - 1);
  expect([begin() === null, begin()]).toEqual([false, null]);
});

it('so many wait in all', () => {
  const { waits, beginOf } = scene([...CONFIGURED, started]);
  const account = (index: number) => accountId(`acct_${index % 20}`);
  const begun = Array.from({ length: LIMITS.reloadWaitingMax }, (_, index) => beginOf(account(index)));
  expect([begun.includes(null), waits.count]).toEqual([false, LIMITS.reloadWaitingMax]);
  expect(beginOf(accountId('acct_further'))).toBeNull();
  begun[0]?.end();
  expect(beginOf(accountId('acct_further'))).not.toBeNull();
});

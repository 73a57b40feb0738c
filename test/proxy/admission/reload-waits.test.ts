import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import {
  type AccountId,
  accountId,
  attemptId,
  keyId,
  leaseId,
  paymentId,
  proxyId,
  requestId,
  revision,
} from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { type ReloadWait, ReloadWaits } from '../../../proxy/admission/reload-waits.ts';
import { Holds } from '../../../proxy/holds.ts';
import { ACCOUNT, granted, keyIssued, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const AT = new Date(NOW).toISOString();
const attempt = attemptId('reload_1');
const STAYS: ReloadWait['client'] = { hasLeft: false, onceLeft: () => () => undefined };

const REFUSED = { client: STAYS, bytes: 10, isOnlyHeld: false };
const BODIES = { maxBytes: 1_000_000, maxBytesPerAccount: 100_000 };

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
const abandoned: AccountEvent = {
  type: 'PaymentAbandoned',
  data: { attemptId: attempt, reason: 'no', at: AT, endedBy: null },
};

/** Waits of an account with little left, and whatever has happened to it. */
function scene(events: readonly AccountEvent[], waitMs = LIMITS.reloadWaitMsMax) {
  const accounts = new AccountViews();
  const begun: string[] = [];
  const holds = new Holds();
  const waits = new ReloadWaits({
    ...{ accounts, holds, bodies: BODIES, clock: () => NOW, waitMs },
    begin: (accountId) => begun.push(accountId),
  });
  const foldOf = (account: AccountId, more: readonly AccountEvent[]): void => {
    for (const event of more) accounts.fold(account, revision(accounts.foldedUpTo(account) + 1), event);
  };
  const lifeWith = (key: AccountEvent): AccountEvent[] => [opened, key, granted('g', 1_000_000), ...events];
  const fold = (...more: readonly AccountEvent[]): void => foldOf(ACCOUNT, more);
  fold(...lifeWith(keyIssued()));
  /** Another account with the same life, and a key of its own. */
  const beginOf = (account: AccountId) => {
    if (accounts.foldedUpTo(account) < 0)
      foldOf(account, lifeWith(keyIssued({ sha256: Buffer.from(account).toString('hex').padEnd(64, '0') })));
    return waits.begin(account, REFUSED);
  };
  const begin = (more: object = {}) => waits.begin(ACCOUNT, { ...REFUSED, ...more });
  return { waits, holds, begun, fold, begin, beginOf };
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
  expect(begin({ client: { ...STAYS, hasLeft: true } })).toBeNull();
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
  fold(abandoned, { ...started, data: { ...started.data, attemptId: attemptId('reload_2') } });
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

it('what waits has a quarter of the bytes that bodies may have, in all and of one account', () => {
  const { waits, begin, beginOf } = scene([...CONFIGURED, started]);
  const ofAccount = BODIES.maxBytesPerAccount / 4;
  expect(begin({ bytes: ofAccount + 1 })).toBeNull();
  const first = begin({ bytes: ofAccount });
  expect([first === null, begin({ bytes: 1 })]).toEqual([false, null]);
  first?.end();
  for (let index = 0; index < 10; index++) beginOf(accountId(`acct_${index}`));
  const begun = Array.from({ length: 10 }, (_, index) =>
    waits.begin(accountId(`acct_${index}`), { ...REFUSED, bytes: ofAccount - REFUSED.bytes }),
  );
  expect(begun.includes(null)).toBe(false);
  expect(begin({ bytes: 1 })).toBeNull();
  begun[0]?.end();
  expect(begin({ bytes: 1 })).not.toBeNull();
});

const held = {
  ...{ accountId: ACCOUNT, keyId: keyId('key_1'), month: '2026-11', leaseId: null, startedAtMs: NOW },
  amount: usd(500_000),
};

it('the first that lacks only what is held for others is told as some of that is free, the next as that has ended', async () => {
  const { begin, holds, fold } = scene([...CONFIGURED, started]);
  holds.place(requestId('req_1'), held);
  const [poor, first, second] = [begin(), begin({ isOnlyHeld: true }), begin({ isOnlyHeld: true })];
  if (poor === null || first === null || second === null) throw new Error('they wait');
  const changes = [poor, first, second].map((wait) => wait.change());
  const changed = () => Promise.all(changes.map(hasChanged));
  holds.place(requestId('req_2'), held);
  expect(await changed()).toEqual([false, false, false]);
  holds.lower(requestId('req_1'), usd(100));
  expect(await changed()).toEqual([false, true, false]);
  changes[1] = first.change();
  holds.release(requestId('req_1'));
  expect(await changed()).toEqual([false, true, false]);
  first.end();
  expect(await changed()).toEqual([false, true, true]);
  changes[2] = second.change();
  fold({
    type: 'CreditsLeased',
    data: {
      ...{ leaseId: leaseId('lease_1'), proxy: proxyId('proxy_1'), amount: usd(500), expiresAt: AT, epoch: 1 },
      ...{ requestsFrom: null, requestsBefore: null },
    },
  });
  expect(await changed()).toEqual([false, true, false]);
  fold({
    type: 'LeaseReleased',
    data: { proxy: proxyId('proxy_1'), leaseId: leaseId('lease_1'), amount: usd(500) },
  });
  expect(await changed()).toEqual([false, true, true]);
});

import { expect } from 'vitest';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { entriesOf, recordOf } from '../../../ledger/account/keyed-tree.ts';
import { keysAsIssued } from '../../../ledger/account/members.ts';
import { isReturned } from '../../../ledger/account/returned-plan.ts';
import type { PlainAccount } from './plain-account.ts';
import type { RealAccount, Tried } from './real-account.ts';

/** Whether a command is refused, what it says, and what there is afterwards, in the ledger's account and in the plain one. */
export function compare(
  { command, decision }: Pick<Tried, 'command' | 'decision'>,
  plain: PlainAccount,
  real: RealAccount,
): void {
  const events = 'type' in decision ? [] : decision;
  const verdict = 'type' in decision ? 'refused' : events.length === 0 ? 'nothing' : 'done';
  const looked = events.map(({ type, data }) =>
    type === 'AutoReloadStarted' ? `starts ${data.amount}` : type === 'AutoReloadSkipped' ? data.reason : '',
  );
  const isLook = command.type === 'StartAutoReload';
  const said = plain.carryOut(command, events, real.nowMs);
  const { open } = real;
  expect(
    {
      verdict,
      looked: isLook ? looked.join(' ') : '',
      ...moneyOf(open),
      ...planOf(open),
      ...paymentsOf(real),
      ...peopleOf(open),
    },
    `after ${inText(command)} → ${inText(decision)}`,
  ).toEqual({
    verdict: said,
    looked: isLook ? plain.payments.looked : '',
    ...plainMoneyOf(plain),
    isSuspended: plain.isSuspended,
    plan: plain.plans.told,
    attempts: plain.payments.attempts.told,
    method: plain.payments.method,
    auto: plain.payments.auto,
    members: plain.people.members,
    keys: plain.people.keys,
    limits: plain.limits.all,
    told: plain.limits.told,
  });
}

function moneyOf({ grants, uncovered, balance, spend, billing }: OpenAccount) {
  const spent = Object.entries(spend.months).flatMap(([month, { account, keys }]) => [
    [month, account] as const,
    ...[...entriesOf(keys)].map(([key, amount]) => [`${month} ${key}`, amount] as const),
  ]);
  return {
    balance,
    owed: uncovered,
    grants: Object.fromEntries(grants.map((one) => [one.grantId, [one.remaining, one.expired, one.expiresAtMs]])),
    spent: Object.fromEntries(spent.filter(([, amount]) => amount !== 0n)),
    closing: billing.statement?.closing ?? 0n,
  };
}

const plainMoneyOf = ({ balance, owed, grants, spent, statements }: PlainAccount) => ({
  balance,
  owed,
  grants: Object.fromEntries(
    grants.map((one) => [one.id, [one.left, one.expired, Number.isFinite(one.untilMs) ? one.untilMs : null]]),
  ),
  spent: Object.fromEntries(Object.entries(spent).filter(([, amount]) => amount !== 0n)),
  closing: statements.closing,
});

function planOf(account: OpenAccount) {
  const { suspended, plan: inForce } = account;
  const { plan } = account.billing;
  return {
    isSuspended: suspended !== null,
    plan: {
      inForce,
      asked: plan?.plan ?? null,
      paid: plan?.period?.startMs ?? null,
      isBack: isReturned(account),
      tried: plan?.due == null ? null : [plan.due.startMs, plan.due.attempts],
      next: plan?.next?.plan ?? null,
    },
  };
}

function paymentsOf({ attempts, open }: RealAccount) {
  const { method, methodRemovedAtMs, reload } = open.billing.payments;
  const lines = attempts.map(({ attemptId, kind, state, price, credits }) => [
    attemptId,
    `${kind} ${state} ${price} ${credits}`,
  ]);
  return {
    attempts: Object.fromEntries(lines),
    method: {
      card: method === null ? null : `${method.provider} ${method.paymentMethodId}`,
      consentedMs: method?.consentedAtMs ?? null,
      removedMs: methodRemovedAtMs ?? 0,
    },
    auto: reload && {
      ...{ threshold: reload.threshold, target: reload.target, cap: reload.monthlyCap },
      ...{ consentedMs: reload.consentedAtMs, paused: reload.paused },
      ...{ noes: reload.declines, vain: reload.declines + reload.unanswered },
    },
  };
}

function peopleOf(account: OpenAccount) {
  const { email, organization, spend } = account;
  const members = Object.entries(organization.members).map(([name, one]) => [
    name,
    `${one.email} ${one.role} ${one.addedAtMs}`,
  ]);
  const keys = keysAsIssued(account).map(({ keyId, member, expiresAtMs, models, sha256, last4, previous, ...one }) => {
    const whose = (member ?? email).toLowerCase();
    const before = previous && `${previous.sha256} ${previous.last4} until ${previous.untilMs}`;
    const untilMs = expiresAtMs ?? Number.POSITIVE_INFINITY;
    return `${keyId} of ${whose} until ${untilMs} for ${models} by ${sha256} ${last4}, ${before}, revoked ${one.revokedAtMs}`;
  });
  const crossed = Object.entries(spend.months).flatMap(([month, ofMonth]) =>
    ofMonth.crossed.map((one) => `${month} ${one.replace(/^account|^member:/, '')}`),
  );
  return { members: Object.fromEntries(members), keys, limits: limitsOf(account), told: crossed.toSorted() };
}

/** Each with whose it is: the account's with nothing. */
function limitsOf({ spend: { accountLimit, keyLimits, otherLimits } }: OpenAccount): string[] {
  const { members = {}, soft = {}, thresholds = {} } = otherLimits ?? {};
  const ofMembers = Object.entries(members).map(([name, limit]) => [`member:${name}`, limit] as const);
  const ofAccount = accountLimit === null ? {} : { account: accountLimit };
  const hard = { ...ofAccount, ...recordOf(keyLimits), ...Object.fromEntries(ofMembers) };
  const lines = [
    ...Object.entries(hard).map(([name, limit]) => [name, `hard ${limit}`] as const),
    ...Object.entries(soft).map(([name, limit]) => [name, `soft ${limit}`] as const),
  ];
  return lines
    .map(([name, line]) => `${name.replace(/^account$|^member:/, '')}: ${line} ${thresholds[name] ?? [50, 80, 100]}`)
    .toSorted();
}

const inText = (value: unknown): string =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}` : one));

import { expect, it } from 'vitest';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { NO_PLAN } from '../../../contracts/plan.ts';
import { rateLimitsSchema } from '../../../contracts/rate-limits.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { LimitsByAccount } from '../../../proxy/rate-limits/applying-limits.ts';
import { AT } from '../../contracts/example-parts.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import { granted, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { catalogOf, OPEN_SOURCE, STARTER, subscribed, TEAM } from '../../fixtures/ledger/example-plan-events.ts';

const configuration = rateLimitsSchema.parse({
  paid: { requestsPerMinute: 1_000, concurrentStreams: 7 },
  unpaid: { requestsPerMinute: 10 },
  plans: { team: { requestsPerMinute: 50 } },
  keyPercent: 30,
});
const limited = { ...TEAM, rateLimits: { ...configuration.paid, requestsPerMinute: 70 } };
const limits = new LimitsByAccount(configuration, () => catalogOf(limited, STARTER, OPEN_SOURCE));

function account(...events: readonly AccountEvent[]): OpenAccount {
  const state = fold([opened, ...events]);
  if (state.type !== 'open') throw new Error('it was opened');
  return state;
}
const from = (source: EventData<'CreditsGranted'>['source']): AccountEvent =>
  granted(`g_${source}`, 1, { source, costBasis: usd(1) });
const onPlan = (plan: string): AccountEvent => ({ type: 'PlanChanged', data: { plan, terms: null } });
const nowMs = Date.parse(AT);
const requests = (...events: readonly AccountEvent[]): number =>
  limits.of(account(...events), 1, nowMs).account.requestsPerMinute;

it('are those of who has ever paid from the first credits of a purchase or a plan on, and those of who has not before', () => {
  expect(requests()).toBe(10);
  for (const source of ['trial', 'promotion', 'adjustment'] as const) expect(requests(from(source))).toBe(10);
  for (const source of ['purchase', 'plan'] as const) expect(requests(from('trial'), from(source))).toBe(1_000);
});

it('are those of a plan that has some, whoever has paid; what they leave out is the default', () => {
  expect(requests(onPlan('team'))).toBe(50);
  expect(requests(from('purchase'), onPlan('team'))).toBe(50);
  expect(requests(from('purchase'), onPlan('other'))).toBe(1_000);
  expect(requests(onPlan('constructor'))).toBe(10);
  expect(limits.of(account(onPlan('team')), 1, nowMs).account.concurrentStreams).toBe(1_000);
});

it('are those that the catalog says of the plan, once it is paid, and not those of the configuration', () => {
  const [asked, claim, ...paid] = subscribed('team');
  if (asked === undefined || claim === undefined) throw new Error('it was asked for');
  expect(requests(asked, claim)).toBe(10);
  expect(requests(asked, claim, ...paid)).toBe(70);
  expect(requests(...subscribed('starter'))).toBe(1_000);
  // Nobody has paid for it.
  expect(requests(...subscribed('open-source'))).toBe(10);
});

it.each([
  ['the catalog', limited, 70],
  ['the configuration', { ...TEAM, rateLimits: null }, 50],
])('are those of a plan, by %s, until it is over, whether that is written down yet or not', (_by, team, ofPlan) => {
  const catalog = catalogOf(team);
  const had = subscribed('team', AT, { catalog });
  const leaving = { ...{ plan: NO_PLAN, provider: 'manual', catalog, reason: 'x', by: 'ops' }, nowMs };
  const state = account(...had, ...given(opened, ...had).decided({ type: 'ChangePlan', ...leaving }));
  const byTeam = new LimitsByAccount(configuration, () => catalog);
  const endMs = state.billing.plan?.period?.endMs ?? 0;
  expect([endMs - 1, endMs].map((atMs) => byTeam.of(state, 1, atMs).account.requestsPerMinute)).toEqual([
    ...[ofPlan, 1_000],
  ]);
});

it('are in part those of a key, and divided among proxies: whole numbers, at least one', () => {
  const paid = account(from('purchase'));
  expect(limits.of(paid, 1, nowMs).key).toMatchObject({ requestsPerMinute: 300, concurrentStreams: 2 });
  expect(limits.of(paid, 3, nowMs)).toMatchObject({
    account: { requestsPerMinute: 333, concurrentStreams: 2 },
    key: { requestsPerMinute: 99, concurrentStreams: 1 },
    proxies: 3,
  });
  expect(limits.of(paid, 900, nowMs).account.concurrentStreams).toBe(1);
  // As many as are configured, where fewer are known.
  const configured = new LimitsByAccount({ ...configuration, proxies: 4 }, () => catalogOf());
  expect([configured.of(paid, 2, nowMs).proxies, configured.of(paid, 5, nowMs).proxies]).toEqual([4, 5]);
});

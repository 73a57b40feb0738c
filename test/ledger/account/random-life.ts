import fc from 'fast-check';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import { microUsd, rate } from '../../../contracts/money.ts';
import { rateCard, ratesFrom } from '../../../contracts/rate-card.ts';
import { type AccountState, INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { ACCOUNT, KEY, OTHER_KEY, usageOf } from './example-account.ts';

/** Random lives of an account: commands in the order of time, decided and folded one after another. */

/** Pico-USD per token: small enough for many costs below one micro-USD, uneven enough for a carry after nearly all. */
export const PRICE = { input: 2_345_660n, output: 14_999_999n, hasFast: true } as const;
const rates = ratesFrom(rate(PRICE.input), rate(PRICE.output));
if (rates === null) throw new Error('the price cannot be billed');
const PRICE_CARD = rateCard('opal-medium', 1, rates, 2);

/** Just before a year's end, so that short lives cross months. */
const BIRTH_MS = Date.UTC(2026, 11, 28);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const tokens = fc.record({
  input: fc.nat({ max: 60 }),
  output: fc.nat({ max: 20 }),
  cacheRead: fc.nat({ max: 9 }),
  cacheWrite5m: fc.nat({ max: 3 }),
  cacheWrite1h: fc.nat({ max: 3 }),
});
const key = fc.constantFrom(KEY, OTHER_KEY);
const amount = fc.integer({ min: 0, max: 900 });

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('usage'),
      tokens,
      key,
      lane: fc.constantFrom('standard', 'standard', 'fast'),
      billable: fc.constantFrom(true, true, true, true, false),
      durationMs: fc.nat({ max: HOUR_MS }),
      hold: fc.option(fc.nat({ max: 400 })),
      /** Added to the output: what no model writes. */
      absurd: fc.constantFrom(0, 0, 0, 0, 1e15, Number.MAX_SAFE_INTEGER - 20),
      unpriced: fc.constantFrom(false, false, false, true),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('late'), tokens, key, durationMs: fc.nat({ max: HOUR_MS }) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('end'), approves: fc.boolean(), which: fc.nat() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('grant'),
      amount,
      priority: fc.nat({ max: 2 }),
      free: fc.boolean(),
      startsInMs: fc.constantFrom(0, 0, DAY_MS),
      lastsMs: fc.option(fc.oneof(fc.integer({ min: 1, max: 9 * DAY_MS }), fc.integer({ min: 1, max: 2 * HOUR_MS }))),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('expire') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('reinstate'),
      which: fc.nat(),
      part: fc.option(fc.nat({ max: 100 })),
      lastsMs: fc.option(fc.integer({ min: 1, max: 9 * DAY_MS })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('revoke'), which: fc.nat(), part: fc.nat({ max: 100 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('limit'), key: fc.option(key), limit: fc.option(amount) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('suspension'), lift: fc.boolean() }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
export type TimedStep = { readonly step: Step; readonly afterMs: number };

/** Mostly close together, so that what ends, expires and is swept overlaps; now and then days apart. */
const afterMs = fc.oneof(
  { weight: 4, arbitrary: fc.nat({ max: HOUR_MS / 3 }) },
  { weight: 1, arbitrary: fc.nat({ max: 2 * DAY_MS }) },
);

export const lives = fc.array(fc.record({ step, afterMs }), { maxLength: 40, size: 'max' });

/** The events of a life. */
export const live = (steps: readonly TimedStep[]): AccountEvent[] => liveInTime(steps).map(({ event }) => event);

/** The events of a life, each with the time at which it was decided. Commands that are refused leave none. */
export function liveInTime(steps: readonly TimedStep[]): { readonly event: AccountEvent; readonly atMs: number }[] {
  const events: { event: AccountEvent; atMs: number }[] = [];
  let nowMs = BIRTH_MS;
  let state: AccountState = INITIAL_ACCOUNT;
  const take = (decided: readonly AccountEvent[]): void => {
    for (const event of decided) state = evolve(state, event);
    events.push(...decided.map((event) => ({ event, atMs: nowMs })));
  };
  const run = (command: AccountCommand): void => {
    const decision = decide(command, state);
    if (!('type' in decision)) take(decision);
  };
  run(birth);
  for (const keyId of [KEY, OTHER_KEY]) run({ ...issue, keyId, nowMs });
  for (const [index, { step: next, afterMs }] of steps.entries()) {
    nowMs += afterMs;
    if (next.type === 'revoke') take(revocation(state, next));
    else if (next.type === 'end') take(ending(state, next));
    else if (next.type === 'late') for (const command of lateUsage(next, index, nowMs)) run(command);
    else if (next.type === 'reinstate') for (const command of reinstatement(state, next, nowMs)) run(command);
    else run(commandOf(next, index, nowMs));
  }
  return events;
}

const birth: AccountCommand = {
  type: 'OpenAccount',
  accountId: ACCOUNT,
  kind: 'personal',
  email: 'owner@example.com',
  trial: microUsd(500n),
  trialGrantId: grantId('trial'),
  nowMs: BIRTH_MS,
};
const issue = {
  type: 'IssueKey',
  name: 'ci',
  sha256: 'a3'.repeat(32),
  last4: 'wxyz',
  issuer: 'owner@example.com',
  expiresAtMs: null,
  models: null,
  monthlyLimit: microUsd(300n),
} as const;

function commandOf(
  next: Exclude<Step, { type: 'revoke' | 'reinstate' | 'end' | 'late' }>,
  index: number,
  nowMs: number,
): AccountCommand {
  switch (next.type) {
    case 'usage': {
      const { id, version, hash } = PRICE_CARD;
      const usage = usageOf(index, 0, {
        tokens: { ...next.tokens, output: next.tokens.output + (next.hold === null ? 0 : next.absurd) },
        hold: next.hold === null ? null : microUsd(BigInt(next.hold)),
        unpriced: next.unpriced ? ['service_tier: batch'] : [],
        keyId: next.key,
        lane: next.lane === 'fast' ? 'fast' : 'standard',
        billable: next.billable,
        startedAt: new Date(nowMs - next.durationMs).toISOString(),
        finishedAt: new Date(nowMs).toISOString(),
        rateCard: { id, version, hash },
      });
      return { type: 'RecordUsage', usage, card: PRICE_CARD };
    }
    case 'grant': {
      const granted = microUsd(BigInt(next.amount));
      const effectiveAtMs = nowMs + next.startsInMs;
      return {
        type: 'GrantCredits',
        grantId: grantId(`g${index}`),
        source: 'purchase',
        amount: granted,
        costBasis: next.free ? microUsd(0n) : granted,
        priority: next.priority,
        effectiveAtMs,
        expiresAtMs: next.lastsMs === null ? null : effectiveAtMs + next.lastsMs,
      };
    }
    case 'expire':
      return { type: 'ExpireCredits', lateMs: 2 * HOUR_MS, nowMs };
    case 'limit':
      return {
        type: 'SetSpendLimit',
        keyId: next.key,
        limit: next.limit === null ? null : microUsd(BigInt(next.limit)),
      };
    case 'suspension':
      return next.lift ? { type: 'ReinstateAccount', reason: 'x' } : { type: 'SuspendAccount', reason: 'x' };
    default:
      throw new Error(`no command for ${JSON.stringify(next satisfies never)}`);
  }
}

/** Part of what has expired of some grant, or all of it; now and then without a new end, which may be refused. */
function reinstatement(
  state: AccountState,
  { which, part, lastsMs }: Extract<Step, { type: 'reinstate' }>,
  nowMs: number,
): AccountCommand[] {
  const expired = state.type === 'unopened' ? [] : state.grants.filter((grant) => grant.expired > 0n);
  const grant = expired[which % Math.max(1, expired.length)];
  if (grant === undefined) return [];
  const amount = part === null ? null : microUsd((grant.expired * BigInt(part)) / 100n);
  const expiresAtMs = lastsMs === null ? null : nowMs + lastsMs;
  const { grantId } = grant;
  return [{ type: 'ReinstateCredits', grantId, amount, expiresAtMs, lateMs: 0, reason: 'x', actor: 'operator', nowMs }];
}

/** One of the open exceptions is approved or dropped. */
function ending(state: AccountState, { approves, which }: Extract<Step, { type: 'end' }>): AccountEvent[] {
  const open = state.type === 'unopened' ? [] : [...valuesOf(state.exceptions.open)];
  const exception = open[which % Math.max(1, open.length)];
  if (exception === undefined) return [];
  const { requestId } = exception;
  const type = approves ? 'ApproveException' : 'DropException';
  const decision = decide({ type, requestId, reason: 'x', actor: 'x' }, state);
  return 'type' in decision ? [] : decision;
}

/** A request is recorded as recovered, and then its usage comes after all. */
function lateUsage(
  { tokens, key, durationMs }: Extract<Step, { type: 'late' }>,
  index: number,
  nowMs: number,
): AccountCommand[] {
  const { id, version, hash } = PRICE_CARD;
  const startedAt = new Date(nowMs - durationMs).toISOString();
  const finishedAt = new Date(nowMs).toISOString();
  const usage = usageOf(index, 0, { keyId: key, startedAt, finishedAt, rateCard: { id, version, hash } });
  const recovered = { ...usage, outcome: 'recovered', source: 'estimated', billable: false } as const;
  return [
    { type: 'RecordUsage', usage: recovered, card: PRICE_CARD },
    { type: 'ReportLateUsage', usage: { ...usage, tokens }, card: PRICE_CARD },
  ];
}

/** No command revokes a grant yet, but the fold knows the event: a part of what one grant still holds. */
function revocation(state: AccountState, { which, part }: Extract<Step, { type: 'revoke' }>): AccountEvent[] {
  if (state.type === 'unopened') return [];
  const grant = state.grants[which % Math.max(1, state.grants.length)];
  if (grant === undefined) return [];
  const data: EventData<'GrantRevoked'> = {
    grantId: grant.grantId,
    amount: microUsd((grant.remaining * BigInt(part)) / 100n),
    cause: 'administration',
  };
  return [{ type: 'GrantRevoked', data }];
}

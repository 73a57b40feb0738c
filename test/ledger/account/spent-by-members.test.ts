import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import {
  type AccountState,
  INITIAL_ACCOUNT,
  type Lease,
  type OpenAccount,
} from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { evolveOwn, OwnParts } from '../../../ledger/account/evolve-own.ts';
import { entryOf, recordOf } from '../../../ledger/account/keyed-tree.ts';
import { setAsideForKey, setAsideForMember } from '../../../ledger/account/leases.ts';
import { spentByMember } from '../../../ledger/account/spend.ts';
import { accountUpcaster } from '../../../ledger/account/stored-account.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  KEY,
  keyIssued,
  lifeWith,
  memberLimitSet,
  openAccount,
  requestOf,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { BEN, memberAdded, memberRemoved, organization } from '../../fixtures/ledger/example-organization.ts';
import { ofWholeText, textWithParts, wholeText } from '../../fixtures/ledger/whole-account.ts';
import { type Commands, lived, memberHistories } from '../model/histories.ts';
import { NOW } from './example-leases.ts';

/** Adds up from the events alone. */
class PlainSums {
  readonly #owners = new Map<string, string>();
  readonly #spent = new Map<string, Map<string, bigint>>();
  #first = '';

  take({ type, data }: AccountEvent): void {
    if (type === 'AccountOpened') this.#first = data.email;
    if (type === 'ApiKeyIssued') this.#owners.set(data.keyId, (data.member ?? this.#first).toLowerCase());
    if (type !== 'CreditsDebited' && type !== 'ExceptionApproved' && type !== 'DebitReversed') return;
    const ofMonth = this.#spent.get(data.month) ?? new Map<string, bigint>();
    const before = ofMonth.get(data.keyId) ?? 0n;
    this.#spent.set(data.month, ofMonth);
    ofMonth.set(data.keyId, type === 'DebitReversed' ? before - data.amount : before + data.amount);
  }

  keysOf(email: string): string[] {
    return [...this.#owners].flatMap(([key, owner]) => (owner === email.toLowerCase() ? [key] : []));
  }

  /** By member, of those whose keys have spent, or had. */
  of(month: string): Record<string, bigint> {
    const sums: Record<string, bigint> = {};
    for (const [key, amount] of this.#spent.get(month) ?? []) {
      const owner = this.#owners.get(key);
      if (owner !== undefined) sums[owner] = (sums[owner] ?? 0n) + amount;
    }
    return sums;
  }
}

/** Each key's part of each lease by itself. */
function setAsideByKeys(state: OpenAccount, keys: readonly string[], leases: readonly Lease[]): bigint {
  return leases.reduce((sum, lease) => {
    const parts = keys.reduce((all, key) => all + setAsideForKey(state, key as never, [lease]), 0n);
    return sum + (parts < lease.amount ? parts : lease.amount);
  }, 0n);
}

type Seen = Record<'counted' | 'reversed' | 'begun' | 'dropped' | 'spentBefore' | 'aside' | 'asideBefore', number>;

/** What of that has happened. */
function note(seen: Seen, { type, data }: AccountEvent, before: AccountState, { spend, leases }: OpenAccount): void {
  if (before.type === 'unopened' || Object.keys(spend.months).length === 0) return;
  const wasCounted = before.spend.otherLimits !== null;
  if (spend.otherLimits === null) {
    if (wasCounted) seen.dropped++;
    return;
  }
  seen.counted++;
  if (!wasCounted) seen.begun++;
  if (type === 'DebitReversed') seen.reversed++;
  if (
    type === 'ApiKeyIssued' &&
    Object.values(spend.months).some(({ keys }) => entryOf(keys, data.keyId) !== undefined)
  )
    seen.spentBefore++;
  for (const { keyId, beforeLimit } of Object.values(leases)) {
    if (keyId !== null) seen.aside++;
    else if (Object.keys(beforeLimit).length > 0) seen.asideBefore++;
  }
}

it('what a member has spent in a month, and has set aside, is the sum of the keys, in any life, folded or read back', () => {
  const seen: Seen = { counted: 0, reversed: 0, begun: 0, dropped: 0, spentBefore: 0, aside: 0, asideBefore: 0 };
  fc.assert(
    fc.property(memberHistories, fc.array(fc.nat({ max: 9 })), (commands: Commands, restarts) => {
      const plain = new PlainSums();
      const own = new OwnParts();
      const [opening, ...events] = lived(commands).events;
      if (opening === undefined) throw new Error('nothing was opened');
      plain.take(opening);
      let state = evolve(INITIAL_ACCOUNT, opening);
      let [folded, read] = [state, state];
      for (const [index, event] of events.entries()) {
        const before = state;
        plain.take(event);
        state = evolve(before, event);
        folded = evolveOwn(folded, event, own);
        read = evolve(read, event);
        if (restarts.includes(index % 10)) read = { ...ofWholeText(wholeText(read)), exceptions: read.exceptions };
        const { spend, organization, leases } = state;
        for (const [name, month] of Object.entries(spend.months)) {
          const sums = plain.of(name);
          for (const one of [state, folded, read])
            expect(recordOf(one.spend.months[name]?.members ?? null)).toEqual(spend.otherLimits === null ? {} : sums);
          for (const { email } of Object.values(organization.members))
            expect(spentByMember(state, month, email)).toBe(sums[email.toLowerCase()] ?? 0n);
        }
        const all = Object.values(leases);
        for (const email of Object.keys(spend.otherLimits?.members ?? {}))
          expect(setAsideForMember(state, email, all)).toBe(setAsideByKeys(state, plain.keysOf(email), all));
        note(seen, event, before, state);
      }
      for (const one of [folded, read, accountUpcaster(17)?.(textWithParts(state))])
        expect(one?.spend).toStrictEqual(state.spend);
    }),
    { numRuns: 100 },
  );
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(0);
});

it('goes on for the keys of a member who has left, with what is approved and what is reversed, by month', () => {
  const begun = [organization, memberAdded(), granted('g', 1_000), keyIssued({ member: 'BEN@example.com' })];
  const october = { startedAt: '2026-10-20T10:00:00.000Z', finishedAt: '2026-10-20T10:00:01.000Z' };
  const before = lifeWith(lifeWith(begun, usageOf(1, 30, { keyId: KEY })), usageOf(2, 7, { keyId: KEY, ...october }));
  const beyond = usageOf(3, 9, { keyId: KEY, hold: usd(5) });
  const life = lifeWith([...before, memberLimitSet(100, BEN), memberRemoved(BEN)], beyond);
  const said = { reason: 'x', actor: 'operator' };
  const approved = given(...life).decided({ type: 'ApproveException', requestId: beyond.requestId, ...said });
  const members = (events: readonly AccountEvent[], month: string) =>
    recordOf(openAccount(events).spend.months[month]?.members ?? null);
  expect(members(life, '2026-11')).toEqual({ [BEN]: 35n });
  expect(members([...life, ...approved], '2026-11')).toEqual({ [BEN]: 39n });
  const debits = before.filter((event) => event.type === 'CreditsDebited').slice(-1);
  const reversing = { reversalId: 'r', requestId: requestOf(2), debits, amount: usd(4), nowMs: NOW } as const;
  const reversed = given(...life).decided({ type: 'ReverseDebit', ...reversing, ...said });
  expect([members(life, '2026-10'), members([...life, ...reversed], '2026-10')]).toEqual([
    { [BEN]: 7n },
    { [BEN]: 3n },
  ]);
});

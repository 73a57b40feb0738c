import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { downcast, upcast } from '../../../contracts/event-upcasters.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, commandId, type KeyId, keyId, leaseId, NO_STREAM, revision } from '../../../contracts/ids.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { activeLeases, freeCredit, setAsideForMember } from '../../../ledger/account/leases.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { limitOf } from '../../../ledger/account/spend-limits.ts';
import { inAdoptedForms } from '../../../ledger/forms/in-adopted-forms.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  CARD,
  granted,
  KEY,
  keyIssued,
  limitSet,
  memberLimitSet,
  OTHER_KEY,
  openAccount,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { BEN, memberAdded, memberRemoved, OWNER, organization } from '../../fixtures/ledger/example-organization.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { ofWholeText, wholeText } from '../../fixtures/ledger/whole-account.ts';
import { ANY, L1, L2, leaseCommand, leased, NOW, P1 } from './example-leases.ts';

/** Ben has two keys, the owner another one. */
const OWNERS_KEY = keyId('key_owner');
const begun = [
  organization,
  memberAdded('Ben@example.com'),
  keyIssued({ member: BEN }),
  keyIssued({ keyId: OTHER_KEY, sha256: 'b4'.repeat(32), member: 'BEN@example.com' }),
  keyIssued({ keyId: OWNERS_KEY, sha256: 'c5'.repeat(32) }),
  granted('g1', 1_000),
];
const set = (change: Partial<CommandOf<'SetSpendLimit'>> = {}): CommandOf<'SetSpendLimit'> => ({
  ...{ type: 'SetSpendLimit', keyId: null, limit: usd(100), nowMs: NOW },
  ...change,
});

/** Requests in turn, each by a key for so much, and the thresholds that each has crossed. */
function spend(events: readonly AccountEvent[], ...requests: readonly (readonly [KeyId, number])[]) {
  let state = openAccount(events);
  const told = requests.map(([key, amount], index) => {
    const written = recordUsage(state, usageOf(index + 1, amount, { keyId: key }), CARD);
    state = fold(written, state) as OpenAccount;
    return written.flatMap(({ type, data }) =>
      type === 'SpendThresholdCrossed'
        ? [`${data.member ?? data.scope} ${data.thresholdPercent}% by ${data.spent}`]
        : [],
    );
  });
  return { state, told };
}

describe('a monthly limit', () => {
  it('is of the account, of a member as its e-mail was written down, or of a key', () => {
    given(...begun).decides(set({ member: BEN }), memberLimitSet(100, 'Ben@example.com'));
    given(...begun).decides(set({ keyId: KEY }), limitSet(100, KEY));
    given(...begun).decides(set(), limitSet(100));
    given(...begun).refuses(set({ member: 'eve@example.com' }), 'member_not_found', /^eve@example\.com is no member/);
    given(...begun).refuses(set({ member: BEN, keyId: KEY }), 'ambiguous_scope');
  });

  it('is hard or soft, with thresholds of its own, and changes where one of them does', () => {
    const soft = { mode: 'soft', thresholdsPercent: [60, 90] } as const;
    const asSet = memberLimitSet(100, 'Ben@example.com', { mode: 'soft', thresholdsPercent: [60, 90] });
    given(...begun).decides(set({ member: BEN, ...soft }), asSet);
    given(...begun, asSet).decides(set({ member: BEN, ...soft }));
    // What is not said of its thresholds stays: only a new limit has the usual ones.
    const kept = { thresholdsPercent: [60, 90] };
    given(...begun, asSet).decides(set({ member: BEN }), memberLimitSet(100, 'Ben@example.com', kept));
    given(...begun, asSet).decides(set({ member: BEN, mode: 'soft' }));
    given(...begun, asSet).decides(
      set({ member: BEN, mode: 'soft', thresholdsPercent: [50, 80, 100] }),
      memberLimitSet(100, 'Ben@example.com', { mode: 'soft' }),
    );
    const lifted = [asSet, memberLimitSet(null, 'Ben@example.com')];
    given(...begun, ...lifted).decides(set({ member: BEN }), memberLimitSet(100, 'Ben@example.com'));
    given(...begun, asSet).decides(set({ member: BEN, limit: null, ...soft }), memberLimitSet(null, 'Ben@example.com'));
    given(...begun).decides(set({ member: BEN, limit: null, ...soft }));
    for (const thresholdsPercent of [[], [0, 50], [50, 101], [1.5], [60, 60], [90, 60]])
      given(...begun).refuses(set({ thresholdsPercent }), 'invalid_thresholds', /^thresholds: /);
  });

  it.each([null, KEY, 'member' as const])('of %s is one: what is set last', (scope) => {
    const of = scope === 'member' ? { keyId: null, member: BEN } : { keyId: scope, member: null };
    const event = (limit: number | null, change = {}) =>
      scope === 'member' ? memberLimitSet(limit, BEN, change) : limitSet(limit, scope, change);
    const standing = (...events: readonly AccountEvent[]) => limitOf(openAccount([...begun, ...events]).spend, of);
    const hard = { limit: 70n, mode: 'hard', thresholdsPercent: [50, 80, 100] };
    expect(standing(event(70))).toEqual(hard);
    expect(standing(event(70), event(30, { mode: 'soft' }))).toEqual({ ...hard, limit: 30n, mode: 'soft' });
    expect(standing(event(30, { mode: 'soft', thresholdsPercent: [9] }), event(70))).toEqual(hard);
    expect(standing(event(70, { thresholdsPercent: [9] }))).toEqual({ ...hard, thresholdsPercent: [9] });
    expect(standing(event(70, { mode: 'soft' }), event(null))).toBeNull();
    const spent = openAccount([...begun, event(70, { mode: 'soft', thresholdsPercent: [9] }), event(null)]).spend;
    expect(spent.otherLimits).toBeNull();
    const kept = openAccount([...begun, event(70, { mode: 'soft', thresholdsPercent: [9] })]);
    expect(ofWholeText(wholeText(kept))).toStrictEqual(kept);
  });

  it('says nothing new in its first form, and what is new only in the second', () => {
    const first = { scope: 'account', keyId: null, limit: '5' };
    const stored = { ...first, member: null, mode: 'hard', thresholdsPercent: [50, 80, 100] };
    expect(upcast('SpendLimitSet', 1, first)).toEqual(stored);
    expect(downcast('SpendLimitSet', 1, stored)).toEqual(first);
    for (const change of [{ mode: 'soft' }, { thresholdsPercent: [50, 80] }, { member: BEN, scope: 'member' }])
      expect(downcast('SpendLimitSet', 1, { ...stored, ...change })).toBeNull();
    expect(downcast('SpendThresholdCrossed', 1, { ...first, member: BEN })).toBeNull();
  });
});

it('is written as programs of before read it while the ledger has not adopted more, and where that cannot say it not at all', async () => {
  const log = new MemoryEventLog();
  const recording = {
    commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
    ...{ actor: 'operator', recordedAt: '2026-11-05T10:20:31.001Z' },
  };
  const writer = inAdoptedForms(log, { passedMs: () => 0 });
  const stream = accountStream(ACCOUNT);
  const write = (at: number, event: AccountEvent) =>
    writer.append(stream, revision(at), encodeEvents([event], recording));
  expect(await write(NO_STREAM, limitSet(5))).toMatchObject({ type: 'appended' });
  expect(JSON.parse(log.events[0]?.data ?? '')).toEqual({ scope: 'account', keyId: null, limit: '5' });
  for (const change of [{ mode: 'soft' }, { thresholdsPercent: [60] }, { scope: 'member', member: BEN }] as const)
    await expect(write(0, limitSet(6, null, change as never))).rejects.toThrow(
      /^SpendLimitSet version 2 cannot be written/,
    );
  expect(log.events).toHaveLength(1);
});

describe('thresholds', () => {
  it("of a member's limit are crossed by what all of the member's keys spend, and told once", () => {
    const limited = [...begun, memberLimitSet(100, 'Ben@example.com')];
    const { told } = spend(limited, [KEY, 40], [OWNERS_KEY, 500], [OTHER_KEY, 45], [KEY, 10], [OTHER_KEY, 20]);
    expect(told).toEqual([
      [],
      [],
      ['Ben@example.com 50% by 85', 'Ben@example.com 80% by 85'],
      [],
      ['Ben@example.com 100% by 115'],
    ]);
  });

  it('of a soft limit are told as those of a hard one, at the percents that were set', () => {
    for (const mode of ['soft', 'hard'] as const) {
      const terms = { mode, thresholdsPercent: [60, 90] };
      expect(spend([...begun, limitSet(100, null, terms)], [KEY, 59], [KEY, 1], [KEY, 40]).told).toEqual([
        [],
        ['account 60% by 60'],
        ['account 90% by 100'],
      ]);
    }
  });

  it('are of the account, then of the member, then of the key', () => {
    const limited = [...begun, limitSet(60), memberLimitSet(60, BEN), limitSet(60, KEY)];
    expect(spend(limited, [KEY, 30]).told).toEqual([
      ['account 50% by 30', 'Ben@example.com 50% by 30', 'key 50% by 30'],
    ]);
  });

  it('go on for what a member who has left had under way', () => {
    const left = [...begun, memberLimitSet(100, BEN), memberRemoved(BEN)];
    expect(spend(left, [KEY, 50]).told).toEqual([[`${BEN} 50% by 50`]]);
  });
});

const KA = leaseId('lease_1_a');
const KB = leaseId('lease_1_b');
const forKey = (key: KeyId, id: typeof KA, amount: number): AccountEvent => leased(amount, { leaseId: id, keyId: key });
const setAside = (state: OpenAccount): bigint => setAsideForMember(state, BEN, activeLeases(state, NOW));
const free = (events: readonly AccountEvent[], key: KeyId | null): bigint =>
  freeCredit(openAccount([...begun, ...events]), { ...ANY, keyId: key }, NOW);

describe("leases of a member's keys", () => {
  it('together take no more than the limit leaves, of whichever key and proxy they are', () => {
    const limited = [memberLimitSet(100, BEN), forKey(KEY, KA, 60)];
    given(...begun, ...limited).decides(
      leaseCommand(100, { leaseId: KB, keyId: OTHER_KEY }),
      forKey(OTHER_KEY, KB, 40),
    );
    expect(free([...limited, forKey(OTHER_KEY, KB, 40)], KEY)).toBe(0n);
    // The owner's key has none of it.
    expect(free(limited, null)).toBe(940n);
  });

  it('and what the keys have spent in the month', () => {
    const { state } = spend([...begun, memberLimitSet(100, BEN)], [OTHER_KEY, 30], [OWNERS_KEY, 200]);
    const inNovember = Date.parse('2026-11-06T13:00:00.000Z');
    expect(freeCredit(state, { ...ANY, keyId: KEY }, inNovember)).toBe(70n);
  });

  it('are also bound by the limit of the key itself, whichever is less', () => {
    expect(free([memberLimitSet(100, BEN), limitSet(30, KEY)], KEY)).toBe(30n);
    expect(free([memberLimitSet(20, BEN), limitSet(30, KEY)], KEY)).toBe(20n);
  });

  it('a soft limit binds nothing, of a key, of a member or of the account', () => {
    const soft = { mode: 'soft' } as const;
    const state = openAccount([
      ...begun,
      memberLimitSet(1, BEN, soft),
      limitSet(1, KEY, soft),
      limitSet(1, null, soft),
    ]);
    expect(freeCredit(state, ANY, NOW)).toBe(1_000n);
    const hardThenSoft = [leased(40), limitSet(100, KEY), limitSet(100, KEY, soft)];
    expect(Object.values(openAccount([...begun, ...hardThenSoft]).leases)).toMatchObject([{ beforeLimit: {} }]);
  });

  it('from before the limit count as much as they have, for all keys together once', () => {
    const state = openAccount([...begun, leased(40), leased(20, { leaseId: L2 }), memberLimitSet(100, BEN)]);
    expect(setAside(state)).toBe(60n);
    expect(freeCredit(state, { ...ANY, keyId: KEY }, NOW)).toBe(40n);
    const [one] = Object.values(state.leases);
    expect(one?.beforeLimit).toEqual({ [KEY]: 40n, [OTHER_KEY]: 40n });
  });

  it('from before count what each key still holds, once their proxy has said it', () => {
    const narrowed = (key: KeyId, atMost: number): AccountEvent => ({
      type: 'LeaseNarrowed',
      data: { proxy: P1, leaseId: L1, keyId: key, atMost: usd(atMost) },
    });
    const limits = [memberLimitSet(100, BEN), memberLimitSet(100, OWNER)];
    const events = [leased(40), ...limits, narrowed(KEY, 5), narrowed(OTHER_KEY, 7)];
    expect(setAside(openAccount([...begun, ...events]))).toBe(12n);
  });

  it('are the same where the key had a limit of its own, and stay its own while either binds it', () => {
    const own = [limitSet(500, KEY), forKey(KEY, KA, 60), leased(40), memberLimitSet(100, BEN)];
    const state = openAccount([...begun, ...own]);
    expect(state.leases[L1]?.beforeLimit).toEqual({ [OTHER_KEY]: 40n });
    expect(setAside(state)).toBe(100n);
    const lifted = openAccount([...begun, ...own, limitSet(null, KEY)]);
    expect(lifted.leases[L1]?.beforeLimit).toEqual({ [OTHER_KEY]: 40n });
    const both = openAccount([...begun, ...own, limitSet(null, KEY), memberLimitSet(null, BEN)]);
    expect(both.leases[L1]?.beforeLimit).toEqual({});
  });

  it('of a key that is issued to a limited member count nothing from before', () => {
    const NEW_KEY = keyId('key_new');
    const issued = keyIssued({ keyId: NEW_KEY, sha256: 'd6'.repeat(32), member: BEN });
    const events = [memberLimitSet(100, BEN), leased(90), issued];
    expect(free(events, NEW_KEY)).toBe(100n);
  });

  it("of the owner's keys are those that name nobody", () => {
    expect(free([memberLimitSet(70, OWNER)], OWNERS_KEY)).toBe(70n);
    expect(free([memberLimitSet(70, OWNER)], KEY)).toBe(1_000n);
  });
});

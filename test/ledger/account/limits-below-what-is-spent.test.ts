import { describe, expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { keyId } from '../../../contracts/ids.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import {
  granted,
  KEY,
  keyIssued,
  lifeWith,
  limitSet,
  ms,
  openAccount,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { BEN, memberAdded, organization } from '../../fixtures/ledger/example-organization.ts';
import { faultsOf } from '../audit/account-faults.ts';

const OWNERS_KEY = keyId('key_owner');
const NOW = '2026-11-20T10:00:00.000Z';
const begun = [
  ...[organization, memberAdded(), granted('g1', 1_000), keyIssued({ member: BEN })],
  keyIssued({ keyId: OWNERS_KEY, sha256: 'c5'.repeat(32) }),
];
/** Of November: 60 by Ben's key, 30 by the owner's. */
const spentInNovember = lifeWith(
  lifeWith(begun, usageOf(1, 60, { keyId: KEY })),
  usageOf(2, 30, { keyId: OWNERS_KEY }),
);

const SCOPES = [
  ['the account', { keyId: null }, 90],
  ['a member', { keyId: null, member: 'BEN@example.com' }, 60],
  ['a key', { keyId: OWNERS_KEY }, 30],
] as const;

function setting(life: readonly AccountEvent[], change: Partial<CommandOf<'SetSpendLimit'>> = {}): AccountEvent[] {
  const command = { type: 'SetSpendLimit', keyId: null, limit: usd(100), nowMs: ms(NOW), ...change } as const;
  const decided = decide(command, openAccount(life));
  if ('type' in decided) throw new Error(decided.message);
  return decided;
}

const toldIn = (events: readonly AccountEvent[]): string[] =>
  events.flatMap(({ type, data }) =>
    type === 'SpendThresholdCrossed'
      ? [`${data.keyId ?? data.member ?? data.scope} ${data.thresholdPercent}% of ${data.limit} by ${data.spent}`]
      : [],
  );

describe('a limit that the month has reached already as it is set', () => {
  it.each(SCOPES)('of %s is told right behind it, each threshold that is reached', (_name, scope, already) => {
    const whose = 'member' in scope ? BEN : (scope.keyId ?? 'account');
    const told = (limit: number, ...percents: readonly number[]) =>
      percents.map((at) => `${whose} ${at}% of ${limit} by ${already}`);
    for (const [limit, percents] of [
      [already, [50, 80, 100]],
      [already + 1, [50, 80]],
      [already * 2, [50]],
      [already * 2 + 1, []],
    ] as const) {
      const decided = setting(spentInNovember, { ...scope, limit: usd(limit) });
      expect(decided.map(({ type }) => type)).toEqual([
        'SpendLimitSet',
        ...percents.map(() => 'SpendThresholdCrossed'),
      ]);
      expect(toldIn(decided)).toEqual(told(limit, ...percents));
      expect(faultsOf([...spentInNovember, ...decided])).toEqual([]);
    }
    expect(toldIn(setting(spentInNovember, { ...scope, limit: usd(1), mode: 'soft', thresholdsPercent: [9] }))).toEqual(
      told(1, 9),
    );
  });

  it('is told once a month, by a debit or by a limit, whatever limit there is meanwhile', () => {
    const once = [...spentInNovember, ...setting(spentInNovember, { limit: usd(150) })];
    expect(toldIn(once)).toEqual(['account 50% of 150 by 90']);
    const twice = [...once, ...setting(once, { limit: usd(100) })];
    expect(toldIn(twice).slice(1)).toEqual(['account 80% of 100 by 90']);
    const lifted = [...twice, ...setting(twice, { limit: null })];
    const again = [...lifted, ...setting(lifted, { limit: usd(100) })];
    expect(toldIn(again)).toEqual(toldIn(twice));
    const debited = lifeWith(again, usageOf(3, 10, { keyId: KEY }));
    expect(toldIn(debited).slice(2)).toEqual(['account 100% of 100 by 100']);
    expect(faultsOf(debited)).toEqual([]);
  });

  it('is told of the month in which it is set, and of none in which nothing was spent, also of a limit of nothing', () => {
    expect(toldIn(setting(spentInNovember, { limit: usd(1), nowMs: ms('2026-10-31T23:59:59.999Z') }))).toEqual([]);
    expect(toldIn(setting(spentInNovember, { limit: usd(0), nowMs: ms('2026-12-01T00:00:00.000Z') }))).toEqual([]);
    expect(toldIn(setting(begun, { limit: usd(0) }))).toEqual([]);
    expect(toldIn(setting(spentInNovember, { limit: null }))).toEqual([]);
    expect(toldIn(setting(spentInNovember, { limit: usd(0) }))).toHaveLength(3);
  });
});

describe('the audit of what stands behind a limit', () => {
  const inOctober = { startedAt: '2026-10-20T10:00:00.000Z', finishedAt: '2026-10-20T10:00:01.000Z' };
  const spent = lifeWith(spentInNovember, usageOf(9, 95, { keyId: KEY, ...inOctober }));
  const [set, first, ...others] = setting(spent, { limit: usd(90) });
  if (set === undefined || first?.type !== 'SpendThresholdCrossed') throw new Error('nothing is told');

  it('takes all of it, or none as programs of before wrote it, whose next debit tells it', () => {
    expect(faultsOf([...spent, limitSet(90)])).toEqual([]);
    const debited = lifeWith([...spent, limitSet(90)], usageOf(3, 1, { keyId: KEY }));
    expect(toldIn(debited)).toEqual([50, 80, 100].map((at) => `account ${at}% of 90 by 91`));
    expect(faultsOf(debited)).toEqual([]);
    const untold = debited.filter(({ type }) => type !== 'SpendThresholdCrossed');
    expect(faultsOf(untold)).toHaveLength(3);
    // Between them stands something else: nothing is due any more.
    expect(faultsOf([...spent, set, granted('g2', 5), first, ...others])).toHaveLength(3);
  });

  it.each([
    ['a part of it', [first], /^a threshold is crossed, and nothing tells of it: 80% of 0\.000090/],
    ['another order', [...others, first], /^the threshold that is crossed is 80% .* should be 50%/],
    ['twice', [first, ...others, first], /^a threshold is told of, and nothing has crossed it/],
    [
      'another sum',
      [{ ...first, data: { ...first.data, spent: usd(91) } }, ...others],
      /^the threshold that is crossed is 50% of .* by 0\.000091 USD/,
    ],
    [
      'another month',
      [{ ...first, data: { ...first.data, month: '2026-10', spent: usd(95) } }],
      /^a threshold is told of, and nothing has crossed it: 50% .* in 2026-10/,
    ],
  ] as const)('tells of %s', (_name, told, fault) => {
    expect(faultsOf([...spent, set, ...told])).toContainEqual(expect.stringMatching(fault));
  });
});

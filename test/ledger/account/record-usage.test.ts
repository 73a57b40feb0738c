import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { rateCard } from '../../../contracts/rate-card.ts';
import { NO_TOKENS } from '../../../contracts/usage.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  CARD,
  debitIn,
  granted,
  KEY,
  keyIssued,
  lifeWith,
  limitSet,
  OTHER_KEY,
  opened,
  record,
  requestOf,
  usageOf,
} from '../../fixtures/ledger/example-account.ts';

const rich = [opened, granted('g', 1_000_000), keyIssued(), keyIssued({ keyId: OTHER_KEY })] as const;

/** Of the last request: `account:50`, `key_a:80`, … */
const crossedBy = (life: readonly AccountEvent[]): string[] =>
  life
    .slice(life.findLastIndex((event) => event.type === 'UsageRecorded'))
    .filter((event) => event.type === 'SpendThresholdCrossed')
    .map(({ data }) => `${data.keyId ?? 'account'}:${data.thresholdPercent}`);
const lastDebit = (life: readonly AccountEvent[]) =>
  debitIn(life.slice(life.findLastIndex((event) => event.type === 'UsageRecorded')));

describe('a finished request', () => {
  test('becomes its usage and its debit, complete', () => {
    const usage = usageOf(1, 3, { tokens: { input: 10, output: 3, cacheRead: 1, cacheWrite5m: 0, cacheWrite1h: 2 } });
    given(...rich).decides(record(usage), { type: 'UsageRecorded', data: usage }, {
      type: 'CreditsDebited',
      data: {
        requestId: requestOf(1),
        keyId: KEY,
        model: 'opal-medium',
        lane: 'standard',
        cost: 3_000_282n,
        carryBefore: 0n,
        carryAfter: 282n,
        amount: 3n,
        leftOut: 0n,
        uses: [],
        lines: [
          { tokenClass: 'input', tokens: 10, rate: 20n, cost: 200n },
          { tokenClass: 'output', tokens: 3, rate: 1_000_000n, cost: 3_000_000n },
          { tokenClass: 'cacheRead', tokens: 1, rate: 2n, cost: 2n },
          { tokenClass: 'cacheWrite1h', tokens: 2, rate: 40n, cost: 80n },
        ],
        grants: [{ grantId: 'g', amount: 3n }],
        uncovered: 0n,
        balanceAfter: 999_997n,
        month: '2026-11',
        monthToDateAfter: 3n,
        keyMonthToDateAfter: 3n,
      },
    } as unknown as AccountEvent);
  });

  test('carries what is below one micro-USD to the next debit, also to one of another key', () => {
    const tokens = { ...NO_TOKENS, input: 30_000 };
    const life = lifeWith(rich, usageOf(1, 0, { tokens }), usageOf(2, 0, { tokens, keyId: OTHER_KEY }));
    const [first, second] = life.filter((event) => event.type === 'CreditsDebited');
    expect(first?.data).toMatchObject({
      cost: 600_000n,
      amount: 0n,
      carryBefore: 0n,
      carryAfter: 600_000n,
      grants: [],
    });
    expect(second?.data).toMatchObject({ amount: 1n, carryBefore: 600_000n, carryAfter: 200_000n });
  });

  test('is recorded and not debited where it is not billable', () => {
    const usage = usageOf(1, 3, { billable: false, outcome: 'upstream_interrupted' });
    given(...rich).decides(record(usage), { type: 'UsageRecorded', data: usage });
  });

  test('is recorded and not debited where it cost nothing', () => {
    const usage = usageOf(1, 0);
    given(...rich).decides(record(usage), { type: 'UsageRecorded', data: usage });
  });

  test('of a free model is recorded and not debited', () => {
    const zero = Object.fromEntries(Object.keys(CARD.rates).map((name) => [name, 0n])) as unknown as typeof CARD.rates;
    const card = rateCard('svc-mock', 1, zero, null);
    const usage = usageOf(1, 500, { rateCard: { id: card.id, version: card.version, hash: card.hash } });
    given(opened).decides(record(usage, card), { type: 'UsageRecorded', data: usage });
  });

  test('is priced by the card that it names, and by no other', () => {
    const dearer = rateCard(CARD.id, 2, CARD.rates, CARD.fastMultiplier);
    expect(() => given(...rich).decided(record(usageOf(1, 3), dearer))).toThrow(/names rate card/);
  });

  test('costs twice in the fast lane, and once where the card has no fast lane', () => {
    const fast = usageOf(1, 3, { lane: 'fast' });
    expect(debitIn(given(...rich).decided(record(fast)))).toMatchObject({ amount: 6n, lane: 'fast' });
    const slow = rateCard(CARD.id, 1, CARD.rates, null);
    const ref = { id: slow.id, version: slow.version, hash: slow.hash };
    expect(debitIn(given(...rich).decided(record({ ...fast, rateCard: ref }, slow))).amount).toBe(3n);
  });

  test('is debited beyond what grants hold, and says how much of it is uncovered', () => {
    const debit = debitIn(given(opened, granted('g', 2)).decided(record(usageOf(1, 5))));
    expect(debit).toMatchObject({
      amount: 5n,
      grants: [{ grantId: 'g', amount: 2n }],
      uncovered: 3n,
      balanceAfter: -3n,
    });
  });

  test('burns trial credits before those that were paid for', () => {
    const trial = granted('z-trial', 2, { source: 'trial', priority: 0, expiresAt: '2026-12-05T10:00:00.000Z' });
    const debit = debitIn(given(opened, granted('a-paid', 9), trial).decided(record(usageOf(1, 5))));
    expect(debit.grants.map((share) => [share.grantId, share.amount])).toEqual([
      ['z-trial', 2n],
      ['a-paid', 3n],
    ]);
  });
});

describe('the month of a debit', () => {
  test('is that in which its request started, whenever it ended', () => {
    const times = { startedAt: '2026-12-31T23:59:59.999Z', finishedAt: '2028-12-31T23:59:59.999Z' };
    expect(lastDebit(lifeWith(rich, usageOf(1, 3, times)))).toMatchObject({ month: '2026-12', monthToDateAfter: 3n });
  });

  test('starts at zero by itself, and an earlier one goes on where it was', () => {
    const november = { startedAt: '2026-11-30T23:59:59.999Z' };
    const december = { startedAt: '2026-12-01T00:00:00.000Z' };
    const life = lifeWith(rich, usageOf(1, 3, november), usageOf(2, 4, december), usageOf(3, 5, november));
    expect(lastDebit(lifeWith(life.slice(0, -2), usageOf(3, 5, november))).monthToDateAfter).toBe(8n);
    expect(lastDebit(lifeWith(life, usageOf(4, 1, december))).monthToDateAfter).toBe(5n);
  });

  test('is counted for the account and for each key', () => {
    const life = lifeWith(rich, usageOf(1, 3), usageOf(2, 4, { keyId: OTHER_KEY }), usageOf(3, 1));
    expect(lastDebit(life)).toMatchObject({ monthToDateAfter: 8n, keyMonthToDateAfter: 4n });
  });
});

describe('a threshold', () => {
  test('is crossed at exactly its share of the limit', () => {
    const limited = [...rich, limitSet(100)];
    expect(crossedBy(lifeWith(limited, usageOf(1, 49)))).toEqual([]);
    expect(crossedBy(lifeWith(limited, usageOf(1, 50)))).toEqual(['account:50']);
    expect(crossedBy(lifeWith(limited, usageOf(1, 79)))).toEqual(['account:50']);
    expect(crossedBy(lifeWith(limited, usageOf(1, 80)))).toEqual(['account:50', 'account:80']);
    expect(crossedBy(lifeWith(limited, usageOf(1, 100)))).toEqual(['account:50', 'account:80', 'account:100']);
  });

  test('is told once per scope and month', () => {
    const limited = [...rich, limitSet(100), limitSet(10, KEY)];
    const first = lifeWith(limited, usageOf(1, 8));
    expect(crossedBy(first)).toEqual(['key_a:50', 'key_a:80']);
    const second = lifeWith(first, usageOf(2, 42));
    expect(crossedBy(second)).toEqual(['account:50', 'key_a:100']);
    expect(crossedBy(lifeWith(second, usageOf(3, 1)))).toEqual([]);
    expect(crossedBy(lifeWith(second, usageOf(3, 8, { startedAt: '2026-12-01T00:00:00.000Z' })))).toEqual([
      'key_a:50',
      'key_a:80',
    ]);
  });

  test('of another key is not crossed', () => {
    const limited = [...rich, limitSet(10, KEY)];
    expect(crossedBy(lifeWith(limited, usageOf(1, 99, { keyId: OTHER_KEY })))).toEqual([]);
  });

  test('is not told again when the limit is raised and crossed once more', () => {
    const raised = [...lifeWith([...rich, limitSet(100)], usageOf(1, 60)), limitSet(200)];
    expect(crossedBy(lifeWith(raised, usageOf(2, 60)))).toEqual([]);
    expect(crossedBy(lifeWith(raised, usageOf(2, 100)))).toEqual(['account:80']);
  });

  test('counts from the limit that stands when the request is settled', () => {
    const lowered = [...lifeWith([...rich, limitSet(1_000)], usageOf(1, 60)), limitSet(100)];
    expect(crossedBy(lifeWith(lowered, usageOf(2, 1)))).toEqual(['account:50']);
    expect(crossedBy(lifeWith([...lowered, limitSet(null)], usageOf(2, 500)))).toEqual([]);
  });

  test('says what the limit is and what is spent', () => {
    const events = lifeWith([...rich, limitSet(100)], usageOf(1, 50));
    expect(events.at(-1)).toEqual({
      type: 'SpendThresholdCrossed',
      data: {
        scope: 'account',
        keyId: null,
        month: '2026-11',
        thresholdPercent: 50,
        limit: 100n,
        spent: 50n,
        member: null,
      },
    });
  });
});

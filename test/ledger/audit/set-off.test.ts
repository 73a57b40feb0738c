import { describe, expect, it } from 'vitest';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import { granted, openAccount, usd } from '../../fixtures/ledger/example-account.ts';
import { adjust, LATER, lived, NOW, restore, reverse, revoke, spent } from '../../fixtures/ledger/owed-and-back.ts';
import { faultsOf } from './account-faults.ts';

const others = [...spent, granted('b', 2), granted('c', 3)];
const refunded = lived(others, revoke('a', 10));
const owed = lived(spent, revoke('a', 10));
const upcoming = [...spent, granted('z', 9, { effectiveAt: LATER })];
const LIVES = {
  GrantRevoked: refunded,
  BalanceAdjusted: lived(upcoming, adjust(5)),
  DebitReversed: lived(owed, reverse(owed, 1)),
  GrantRestored: lived(lived(lived(spent, revoke('a', 3)), adjust(2)), restore('a')),
} as const satisfies Partial<Record<AccountEvent['type'], AccountEvent[]>>;

/** With other data in its last event. */
const saying = (life: readonly AccountEvent[], change: (data: object) => object): AccountEvent[] => {
  const last = life.at(-1);
  if (last === undefined) throw new Error('nothing happened');
  return [...life.slice(0, -1), { type: last.type, data: change(last.data) } as AccountEvent];
};
const setOffIn = (life: readonly AccountEvent[]) => {
  const data = life.at(-1)?.data ?? {};
  if (!('setOff' in data)) throw new Error('nothing could pay');
  return data.setOff as EventData<'GrantRevoked'>['setOff'];
};

describe.each(Object.entries(LIVES))('what pays what is owed otherwise, in %s,', (_type, life) => {
  it('is right as it was decided', () => {
    expect(setOffIn(life).length).toBeGreaterThan(0);
    expect(faultsOf(life)).toEqual([]);
  });

  it('is told where it is another amount, another grant, or nobody', () => {
    const [first, ...rest] = setOffIn(life);
    if (first === undefined) throw new Error('nobody pays');
    const wrong = [
      [],
      [...rest, first, first],
      [{ ...first, grantId: grantId('other') }, ...rest],
      [{ ...first, amount: usd(Number(first.amount) - 1) }, ...rest],
    ];
    for (const setOff of wrong)
      expect(faultsOf(saying(life, (data) => ({ ...data, setOff })))).toContainEqual(
        expect.stringMatching(/: what (of it )?pays (at once|what is owed otherwise) /),
      );
  });
});

/** With other data in its last event, where nobody pays. */
const without = (life: readonly AccountEvent[], change: object = {}): AccountEvent[] =>
  saying(life, (data) => ({ ...data, setOff: [], ...change }));
/** As what was written before anybody did, in which there is no such field; the last `today` events are of today. */
const faultsBefore = (life: readonly AccountEvent[], today = 0): string[] =>
  faultsOf(life, (event) => {
    if (event.revision >= life.length - today) return event;
    const { setOff: _, ...data } = event.data as { readonly setOff?: unknown };
    return { ...event, data };
  });

describe('what was written before credits that are there, or come back, paid other debts', () => {
  it('is right where they were left', () => {
    for (const life of [LIVES.GrantRevoked, LIVES.BalanceAdjusted]) expect(faultsBefore(without(life))).toEqual([]);
  });

  it('is right where they came back to their grants though something was owed, or was revoked of them', () => {
    const back = (amount: number) => [{ grantId: 'a', amount: usd(amount), expiresAt: null }];
    const reversed = without(LIVES.DebitReversed, { owedLess: usd(0), reinstated: back(7) });
    expect(faultsBefore(reversed)).toEqual([]);
    expect(faultsOf(reversed)).not.toEqual([]);
    expect(faultsBefore(without(LIVES.GrantRestored, { owedLess: usd(0), reinstated: back(3) }))).toEqual([]);
    // Nobody paid with part of it then.
    expect(faultsBefore(without(LIVES.DebitReversed, { owedLess: usd(1), reinstated: back(6) }))).not.toEqual([]);
    expect(faultsBefore(without(LIVES.DebitReversed))).not.toEqual([]);
  });

  it('is right where it came back as it does today, as while another program still wrote it so', () => {
    const filled = lived([...lived(spent, revoke('a', 8)), granted('b', 5)], reverse(spent, 1));
    expect(setOffIn(filled)).toEqual([]);
    expect(openAccount(filled).grants.map(({ remaining }) => remaining)).toEqual([2n, 5n]);
    expect(faultsOf(filled)).toEqual([]);
    expect(faultsBefore(filled)).toEqual([]);
    const then = without(filled, { reinstated: [{ grantId: 'a', amount: usd(7), expiresAt: null }] });
    expect(faultsBefore(then)).toEqual([]);
    expect(faultsOf(then)).not.toEqual([]);
  });

  it('is right where more of a grant was revoked than it gave, which is told of today', () => {
    const filled = lived([...lived(spent, revoke('a', 8)), granted('b', 5)], reverse(spent, 1));
    const over = without(filled, { reinstated: [{ grantId: 'a', amount: usd(7), expiresAt: null }] });
    const fraud: AccountEvent = {
      type: 'GrantRevoked',
      data: {
        ...{ revocationId: 'f', grantId: grantId('a'), amount: usd(7), taken: usd(7), uncovered: usd(0), setOff: [] },
        ...{ cause: 'fraud', paymentId: null, revokedAt: new Date(NOW).toISOString() },
        ...{ reason: 'x', actor: 'operator', balanceAfter: usd(0) },
      },
    };
    expect(faultsBefore([...over, fraud])).toEqual([]);
    expect(faultsBefore([...over, fraud], 1)).toEqual([
      'f: revokes of a is 0.000007 USD, should be at most 0.000002 USD',
    ]);
  });
});

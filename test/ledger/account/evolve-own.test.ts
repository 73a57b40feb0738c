import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { keyId } from '../../../contracts/ids.ts';
import { picoUsd } from '../../../contracts/money.ts';
import { type AccountState, INITIAL_ACCOUNT, type OpenAccount } from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { evolveOwn, OwnParts } from '../../../ledger/account/evolve-own.ts';
import { recordOf } from '../../../ledger/account/keyed-tree.ts';
import { deepFrozen } from '../../fixtures/deep-frozen.ts';
import {
  debitIn,
  granted,
  keyIssued,
  lifeWith,
  openAccount,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { fieldsCopied } from '../../fixtures/ledger/many-exceptions.ts';
import { lifeWithKeys } from '../../fixtures/ledger/many-keys.ts';
import { live, lives } from '../../fixtures/ledger/random-life.ts';
import { type Commands, fleetHistories, lived } from '../model/histories.ts';

/** Folds as a view does; before each event that `isShown` says so of somebody has read the state, and goes on to have it. */
function foldedOwn(events: readonly AccountEvent[], isShown: (index: number) => boolean): OpenAccount {
  let own = new OwnParts();
  let state: AccountState = INITIAL_ACCOUNT;
  for (const [index, event] of events.entries()) {
    if (state.type === 'open' && !isShown(index)) state = evolveOwn(state, deepFrozen(event), own);
    else {
      own = new OwnParts();
      state = evolve(deepFrozen(state), deepFrozen(event));
    }
  }
  if (state.type === 'unopened') throw new Error('not open');
  return state;
}

const born = [opened, granted('g', 5_000_000), keyIssued()];
const life = lifeWith(born, usageOf(1, 10), usageOf(2, 20));

describe('a state that its fold alone has', () => {
  test('is after any life what evolve makes of it, and what was shown of it meanwhile stays as it was', () => {
    let debits = 0;
    fc.assert(
      fc.property(fleetHistories, fc.array(fc.nat({ max: 9 })), (commands: Commands, shown) => {
        const { events } = lived(commands);
        expect(foldedOwn(events, (index) => shown.includes(index % 10))).toEqual(openAccount(events));
        debits += events.filter(({ type }) => type === 'CreditsDebited').length;
      }),
      { numRuns: 60 },
    );
    fc.assert(
      fc.property(lives, (steps) => {
        const events = live(steps);
        expect(foldedOwn(events, () => false)).toEqual(openAccount(events));
      }),
      { numRuns: 60 },
    );
    expect(debits).toBeGreaterThan(0);
  });

  test('shares the spending of its keys with what was shown of it, which stays as it was', () => {
    const events = lifeWithKeys(1_010);
    const shown = deepFrozen(openAccount(events));
    const before = recordOf(shown.spend.months['2026-11']?.keys ?? null);
    const own = new OwnParts();
    const fold = (from: OpenAccount, event: AccountEvent) => evolveOwn(from, event, own);
    const usages = [1, 2, 3].map((number) => usageOf(number, 7, { keyId: keyId(`key_${number + 5}`) }));
    const life = lifeWith(events, ...usages);
    const more = life.slice(events.length);
    const after = more.reduce(fold, shown);
    expect(after).toEqual(openAccount(life));
    expect(fieldsCopied(shown, after)).toBeLessThan(more.length * 500);
    expect(recordOf(shown.spend.months['2026-11']?.keys ?? null)).toEqual(before);
  });

  test('is one object from request to request', () => {
    const own = new OwnParts();
    let state = openAccount(life);
    const made: OpenAccount[] = [];
    for (const event of lifeWith(life, usageOf(3, 30), usageOf(4, 40)).slice(life.length)) {
      state = evolveOwn(state, event, own);
      made.push(state);
    }
    expect(new Set(made).size).toBe(1);
  });

  test.each<[string, Partial<EventData<'CreditsDebited'>>]>([
    ['no grant of that name', { grants: [{ grantId: 'none' as never, amount: usd(1) }] }],
    ['more than the grant has', { grants: [{ grantId: 'g' as never, amount: usd(6_000_000) }] }],
    ['more than an account can owe', { uncovered: usd(10n ** 60n) }],
    ['more than an account can spend', { amount: usd(10n ** 60n) }],
    ['another balance than it leaves', { balanceAfter: usd(7) }],
    ['another carry than there is', { carryBefore: picoUsd(7n) }],
  ])('is as it was where an event cannot follow: %s', (_what, change) => {
    const own = new OwnParts();
    const fold = (state: OpenAccount, event: AccountEvent) => evolveOwn(state, event, own);
    const next = lifeWith(life, usageOf(7, 10));
    const recorded = next.slice(0, -1);
    const before = recorded.slice(born.length).reduce(fold, openAccount(born));
    const debit: AccountEvent = { type: 'CreditsDebited', data: { ...debitIn(next.slice(-1)), ...change } };
    const message = String(thrownBy(() => evolve(openAccount(recorded), debit)));
    expect(String(thrownBy(() => fold(before, debit)))).toBe(message);
    expect(before).toEqual(openAccount(recorded));
  });
});

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('it throws nothing');
}

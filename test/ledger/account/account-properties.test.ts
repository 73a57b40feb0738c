import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AccountEvent } from '../../../contracts/events.ts';
import { requestId } from '../../../contracts/ids.ts';
import {
  type AccountState,
  INITIAL_ACCOUNT,
  type OpenAccount,
  openAccountSchema,
} from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { amountOfException } from '../../../ledger/account/exceptions.ts';
import { entriesOf, valuesOf } from '../../../ledger/account/keyed-tree.ts';
import {
  accountOfText,
  accountText,
  exceptionOfStored,
  type StoredException,
  storedException,
  withStoredExceptions,
} from '../../../ledger/account/stored-account.ts';
import { deepFrozen } from '../../fixtures/deep-frozen.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { openAccount } from '../../fixtures/ledger/example-account.ts';
import { PlainLedger } from '../../fixtures/ledger/plain-ledger.ts';
import { live, lives, PRICE } from '../../fixtures/ledger/random-life.ts';

const RUNS = { numRuns: 150 };
const sum = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((total, amount) => total + amount, 0n);

/** Calls back after each event with the ledger's state and the plain one. */
function follow(events: readonly AccountEvent[], check: (state: OpenAccount, plain: PlainLedger) => void) {
  const plain = new PlainLedger(PRICE);
  let state: AccountState = INITIAL_ACCOUNT;
  for (const event of events) {
    // Whoever has the state before goes on to have it.
    const next = evolve(deepFrozen(state), deepFrozen(event));
    plain.take(event);
    check(next, plain);
    state = next;
  }
}

describe('in any life of an account, at every revision', () => {
  test('every debit is what a plain recomputation from usages, prices and grants gives', () => {
    let debits = 0;
    fc.assert(
      fc.property(lives, (steps) => {
        const events = live(steps);
        follow(events, () => undefined);
        debits += events.filter(({ type }) => type === 'CreditsDebited').length;
      }),
      RUNS,
    );
    expect(debits).toBeGreaterThan(RUNS.numRuns);
  });

  test('granted less expired and debited is the balance, and what grants hold less what is uncovered', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        follow(live(steps), ({ balance, grants, uncovered }, plain) => {
          expect(balance).toBe(
            plain.granted + plain.adjusted - plain.expired - plain.revoked - plain.debited + plain.reversed,
          );
          expect(balance).toBe(sum(grants.map(({ remaining }) => remaining)) - uncovered);
          expect(uncovered).toBe(plain.uncovered);
        });
      }),
      RUNS,
    );
  });

  test('a grant holds from nothing to its amount, and the carry is below one micro-USD', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        follow(live(steps), ({ grants, carry }, plain) => {
          for (const { remaining, amount } of grants) expect(remaining >= 0n && remaining <= amount).toBe(true);
          expect(carry >= 0n && carry < 1_000_000n).toBe(true);
          expect(carry).toBe(plain.behind);
          expect(new Map(grants.map((grant) => [grant.grantId as string, grant.remaining]))).toEqual(plain.remaining);
        });
      }),
      RUNS,
    );
  });

  test('what is spent in a month is the sum of its debits, for the account and for each key', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        follow(live(steps), ({ spend }, plain) => {
          const months = Object.entries(spend.months).flatMap(([month, { account, keys }]) => [
            [month, account] as const,
            ...Object.entries(keys).map(([key, spent]) => [`${month} ${key}`, spent] as const),
          ]);
          expect(new Map(months)).toEqual(plain.months);
        });
      }),
      RUNS,
    );
  });
});

describe('in any life of an account', () => {
  test('each balance after a debit is the one before, with what came in between, less the debit', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        let balance = 0n;
        for (const event of live(steps)) {
          if (event.type === 'CreditsGranted' || event.type === 'CreditsReinstated') balance += event.data.amount;
          if (event.type === 'GrantRestored' || event.type === 'DebitReversed') balance += event.data.amount;
          if (event.type === 'BalanceAdjusted')
            balance += event.data.direction === 'up' ? event.data.amount : -event.data.amount;
          if (event.type === 'CreditsExpired' || event.type === 'GrantRevoked') balance -= event.data.amount;
          if (event.type !== 'CreditsDebited' && event.type !== 'ExceptionApproved') continue;
          balance -= event.data.amount;
          expect(event.data.balanceAfter).toBe(balance);
        }
      }),
      RUNS,
    );
  });

  test('each billable usage that costs anything has exactly one debit, right after it; no other has one', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const events = live(steps);
        for (const [index, event] of events.entries()) {
          const next = events[index + 1];
          if (event.type !== 'UsageRecorded') continue;
          const charged = event.data.billable && Object.values(event.data.tokens).some((count) => count > 0);
          expect(next?.type === 'CreditsDebited' && next.data.requestId === event.data.requestId).toBe(charged);
        }
        const debits = events.filter(({ type }) => type === 'CreditsDebited').length;
        const pairs = events.filter(
          ({ type }, at) => type === 'UsageRecorded' && events[at + 1]?.type === 'CreditsDebited',
        );
        expect(debits).toBe(pairs.length);
      }),
      RUNS,
    );
  });

  test('a fold is the same, byte for byte, from the beginning and from a stored snapshot at any revision', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const events = live(steps);
        const whole = stored(events);
        for (let cut = 1; cut <= events.length; cut++) {
          const snapshot = restored(stored(events.slice(0, cut)));
          expect(textOf(fold(events.slice(cut), snapshot))).toBe(whole);
        }
      }),
      { numRuns: 40 },
    );
  });

  test('the count and the sum of its open exceptions are theirs', () => {
    let most = 0;
    fc.assert(
      fc.property(lives, (steps) =>
        follow(live(steps), ({ exceptions: { open, openCount, openAmount } }) => {
          const amounts = [...valuesOf(open)].map(amountOfException);
          expect([openCount, openAmount]).toEqual([amounts.length, sum(amounts)]);
          most = Math.max(most, openCount);
        }),
      ),
      { numRuns: 40 },
    );
    expect(most).toBeGreaterThan(1);
  });

  test('whether a sweeper has run changes no debit', () => {
    let swept = 0;
    fc.assert(
      fc.property(lives, (life) => {
        // An approval comes whenever somebody decides, and what is written off by then is gone.
        const steps = life.map((one) => (one.step.type === 'end' ? { ...one, step: NOTHING } : one));
        const burned = (events: readonly AccountEvent[]) =>
          events.flatMap(({ type, data }) =>
            type === 'CreditsDebited' ? [[data.requestId, data.amount, data.grants, data.uncovered]] : [],
          );
        // What is given back with a new end is spent, so there is none of it in either life.
        const unswept = steps.map((one) => (one.step.type === 'reinstate' ? { ...one, step: NOTHING } : one));
        const events = live(unswept);
        const never = live(unswept.map((one) => (one.step.type === 'expire' ? { ...one, step: NOTHING } : one)));
        expect(burned(events)).toEqual(burned(never));
        swept += events.filter(({ type }) => type === 'CreditsExpired').length;
      }),
      RUNS,
    );
    expect(swept).toBeGreaterThan(0);
  });

  test('it is kept as its schema has it, byte for byte', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        const state = openAccount(live(steps));
        const { open: _open, ended: _ended, ...exceptions } = state.exceptions;
        expect(accountText(state)).toBe(JSON.stringify(z.encode(openAccountSchema, { ...state, exceptions })));
      }),
      RUNS,
    );
  });
});

/** A step that decides nothing: limits are not part of what is compared. */
const NOTHING = { type: 'limit', key: null, limit: null } as const;

/** The account and each of its exceptions, as the views keep them. */
const textOf = (state: AccountState): string => {
  if (state.type === 'unopened') throw new Error('not open');
  const { open, ended } = state.exceptions;
  const requests = [...entriesOf(open), ...entriesOf(ended)].map(([id]) => requestId(id));
  return JSON.stringify([accountText(state), requests.map((id) => [id, storedException(state, id)])]);
};
const restored = (text: string): OpenAccount => {
  const [account, exceptions] = JSON.parse(text) as [string, [string, StoredException][]];
  const inOrder = exceptions.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return withStoredExceptions(
    accountOfText(account),
    inOrder.map(([id, one]) => [id, exceptionOfStored(one)]),
  );
};
const stored = (events: readonly AccountEvent[]): string => textOf(openAccount(events));

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
  accountText,
  exceptionOfStored,
  type StoredException,
  storedException,
  withStoredExceptions,
} from '../../../ledger/account/stored-account.ts';
import { deepFrozen } from '../../fixtures/deep-frozen.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { openAccount } from '../../fixtures/ledger/example-account.ts';
import { live, lives, type TimedStep } from '../../fixtures/ledger/random-life.ts';
import { ofWholeText, wholeText } from '../../fixtures/ledger/whole-account.ts';
import { type Commands, fleetHistories, lived } from '../model/histories.ts';

const RUNS = { numRuns: 150 };
const sum = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((total, amount) => total + amount, 0n);

describe('in any life of an account', () => {
  test('invariant 6: replay: a fold is the same, byte for byte, from the beginning and from a stored snapshot at any revision', () => {
    fc.assert(
      fc.property(fleetHistories, (commands: Commands) => {
        const { events } = lived(commands);
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
      fc.property(lives, (steps) => {
        let state: AccountState = INITIAL_ACCOUNT;
        for (const event of live(steps)) {
          // Whoever has the state before goes on to have it.
          const next = evolve(deepFrozen(state), deepFrozen(event));
          const { open, openCount, openAmount } = next.exceptions;
          const amounts = [...valuesOf(open)].map(amountOfException);
          expect([openCount, openAmount]).toEqual([amounts.length, sum(amounts)]);
          most = Math.max(most, openCount);
          state = next;
        }
      }),
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
      fc.property(fleetHistories, (commands: Commands) => {
        const state = lived(commands).open;
        const { open: _open, ended: _ended, ...exceptions } = state.exceptions;
        const { keys: _keys, ...account } = state;
        expect(accountText(state)).toBe(JSON.stringify(z.encode(openAccountSchema, { ...account, exceptions })));
      }),
      RUNS,
    );
  });
});

/** A step that decides nothing: limits are not part of what is compared. */
const NOTHING: TimedStep['step'] = {
  ...{ type: 'limit', of: null, limit: null, mode: 'hard' },
  thresholdsPercent: [50, 80, 100],
};

/** The account and each of its exceptions, as the views keep them. */
const textOf = (state: AccountState): string => {
  if (state.type === 'unopened') throw new Error('not open');
  const { open, ended } = state.exceptions;
  const requests = [...entriesOf(open), ...entriesOf(ended)].map(([id]) => requestId(id));
  return JSON.stringify([wholeText(state), requests.map((id) => [id, storedException(state, id)])]);
};
const restored = (text: string): OpenAccount => {
  const [account, exceptions] = JSON.parse(text) as [string, [string, StoredException][]];
  const inOrder = exceptions.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return withStoredExceptions(
    ofWholeText(account),
    inOrder.map(([id, one]) => [id, exceptionOfStored(one)]),
  );
};
const stored = (events: readonly AccountEvent[]): string => textOf(openAccount(events));

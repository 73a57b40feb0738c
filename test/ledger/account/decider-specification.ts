import { expect } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { commandId } from '../../../contracts/ids.ts';
import { type AccountState, INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import type { AccountCommand, CommandRefusalCode } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';

/**
 * `given(events).when(command)` and then what it makes of the account. Whatever is decided must also be storable and
 * foldable. (Not named `then`: an object with a `then` is taken for a promise.)
 */
export function given(...events: readonly AccountEvent[]) {
  const state = fold(events);
  return {
    state,
    when(command: AccountCommand) {
      const decision = decide(command, state);
      return {
        thenEvents(...expected: readonly AccountEvent[]): void {
          expect(decision).toEqual(expected);
          if ('type' in decision) return;
          encodeEvents(decision, RECORDING);
          fold(decision, state);
        },
        thenRefused(code: CommandRefusalCode, message?: RegExp): void {
          expect(decision).toMatchObject({ type: 'refused', code });
          if (message !== undefined) expect(decision).toHaveProperty('message', expect.stringMatching(message));
        },
        /** For what is easier to look at than to list. @throws Error when the command was refused. */
        events(): AccountEvent[] {
          if ('type' in decision) throw new Error(`refused: ${decision.message}`);
          return decision;
        },
      };
    },
  };
}

export function fold(events: readonly AccountEvent[], from: AccountState = INITIAL_ACCOUNT): AccountState {
  let state = from;
  for (const event of events) state = evolve(state, event);
  return state;
}

const RECORDING = {
  commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
  actor: 'test',
  recordedAt: '2026-11-05T10:20:31.001Z',
};

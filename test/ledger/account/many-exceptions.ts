import type { AccountEvent } from '../../../contracts/events.ts';
import { microUsd } from '../../../contracts/money.ts';
import { type AccountState, INITIAL_ACCOUNT, type OpenAccount } from '../../../ledger/account/account-state.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { CARD, granted, keyIssued, opened, requestOf, usageOf } from './example-account.ts';

/** What each request of `lifeWithExceptions` costs beyond its hold, in micro-USD. */
export const BEYOND_EACH = 5n;

/** A request whose usage goes beyond its hold. */
export const beyond = (number: number) => usageOf(number, 7, { hold: microUsd(2n) });

/** An account with so many open exceptions about money, of the requests 1 and up, and as many that have ended. */
export function lifeWithExceptions(each: number): AccountEvent[] {
  const events: AccountEvent[] = [opened, granted('g', 1_000_000), keyIssued()];
  let state: AccountState = events.reduce<AccountState>(evolve, INITIAL_ACCOUNT);
  const take = (command: Parameters<typeof decide>[0]) => {
    const decided = decide(command, state);
    if ('type' in decided) throw new Error(decided.message);
    for (const event of decided) state = evolve(state, event);
    events.push(...decided);
  };
  for (let number = 1; number <= 2 * each; number++) {
    take({ type: 'RecordUsage', usage: beyond(number), card: CARD });
    if (number <= each) continue;
    const type = number % 2 === 0 ? 'ApproveException' : 'DropException';
    take({ type, requestId: requestOf(number), reason: 'x', actor: 'operator' });
  }
  return events;
}

/** Own fields of all objects that are reachable from one state and not from the one before: what a step has copied. */
export function fieldsCopied(before: OpenAccount, after: OpenAccount): number {
  const old = new Set(reachable(before, new Set()));
  let fields = 0;
  for (const object of reachable(after, new Set(old))) fields += Object.keys(object).length;
  return fields;
}

function* reachable(value: unknown, seen: Set<object>): Generator<object> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  yield value;
  for (const part of Object.values(value)) yield* reachable(part, seen);
}

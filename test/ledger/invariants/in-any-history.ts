import fc from 'fast-check';
import type { AccountEvent } from '../../../contracts/events.ts';
import { INITIAL_ACCOUNT, type OpenAccount } from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { type Commands, fleetHistories, lived } from '../model/histories.ts';
import type { RealAccount } from '../model/real-account.ts';

/** Looks at an account after each of many random lives, with two proxies that lease, or of another kind. */
export function inAnyHistory(
  numRuns: number,
  check: (account: RealAccount) => void,
  histories: fc.Arbitrary<Commands> = fleetHistories,
): void {
  fc.assert(
    fc.property(histories, (commands: Commands) => check(lived(commands))),
    { numRuns },
  );
}

interface At<E extends AccountEvent = AccountEvent> {
  readonly event: E;
  readonly atMs: number;
  readonly revision: number;
  readonly before: OpenAccount;
  readonly after: OpenAccount;
}

/** Each event of a life but its first, with the states that it stands between. */
export function* eachEvent({ life }: Pick<RealAccount, 'life'>): Generator<At> {
  let state: OpenAccount | null = null;
  for (const [revision, { event, atMs }] of life.entries()) {
    const after: OpenAccount = evolve(state ?? INITIAL_ACCOUNT, event);
    if (state !== null) yield { event, atMs, revision, before: state, after };
    state = after;
  }
}

const MOVES: Readonly<Partial<Record<AccountEvent['type'], 1n | -1n>>> = {
  ...{ CreditsGranted: 1n, CreditsReinstated: 1n, GrantRestored: 1n, DebitReversed: 1n },
  ...{ CreditsDebited: -1n, ExceptionApproved: -1n, CreditsExpired: -1n, GrantRevoked: -1n },
};

/** What an event adds to the balance, by what it says itself. */
export function movedBy({ type, data }: AccountEvent): bigint {
  if (type === 'BalanceAdjusted') return data.direction === 'up' ? data.amount : -data.amount;
  const sign = MOVES[type];
  return sign === undefined ? 0n : sign * (data as { readonly amount: bigint }).amount;
}

/** What has become of an account's plans. */
export function turnsOf({ events }: Pick<RealAccount, 'events'>): string[] {
  return events.flatMap(({ type, data }) =>
    type === 'RenewalStarted' ? [data.kind] : type === 'PlanEnded' ? [`ended, ${data.reason}`] : [],
  );
}

/** Of many lives with plans all of these are seen. */
export const TURNS = ['ended, cancelled', 'ended, unpaid', 'renewal', 'upgrade'] as const;

export const sum = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((all, amount) => all + amount, 0n);

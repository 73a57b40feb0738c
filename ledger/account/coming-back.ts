import type { AccountEvent, EventData } from '../../contracts/events.ts';
import type { GrantId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { Grant, OpenAccount } from './account-state.ts';
import { type CommandRefusal, commandRefused } from './commands.ts';
import { unrestored } from './corrections.ts';
import { isExpired } from './grants.ts';
import type { GrantShare } from './shares-room.ts';

interface Taken {
  /** What no grant had covered. */
  readonly uncovered: bigint;
  /** What of which grants comes back, the first first. */
  readonly shares: readonly { readonly grantId: GrantId; readonly amount: bigint }[];
  /** The shares were revoked, and not spent: nothing else has come in their place. */
  readonly isHeld: boolean;
}

interface ComingBack {
  /** What was left of grants that are over is written down before anything comes back to them. */
  readonly writtenOff: readonly AccountEvent[];
  /** The account's, after that. */
  readonly balance: bigint;
  readonly owedLess: MicroUsd;
  readonly reinstated: EventData<'GrantRestored'>['reinstated'];
}

/**
 * How what was taken comes back: what no grant had covered first lowers what is owed. What of it was filled meanwhile, and
 * what a grant has no room for any more because it has got as much in another's place, goes to the grants in the reverse of
 * the burn order, those that are over last. A grant that is over has a new end then, a stated time from now.
 */
export function comingBack(state: OpenAccount, taken: Taken, nowMs: number): ComingBack | CommandRefusal {
  const owedLess = taken.uncovered < state.uncovered ? taken.uncovered : state.uncovered;
  const room = roomOf(state);
  if (taken.isHeld)
    for (const { grantId, amount } of taken.shares) room.set(grantId, (room.get(grantId) ?? 0n) + amount);
  const own = taken.shares.map(({ grantId, amount }) => roomTaken(room, { grantId, amount }));
  const lacking = taken.shares.reduce((sum, { amount }, at) => sum + amount - (own[at]?.amount ?? 0n), 0n);
  const inPlace = inReverse(state.grants, nowMs);
  const filled = spread(inPlace, room, taken.uncovered - owedLess);
  const shares = [...filled, ...own, ...spread(inPlace, room, lacking)].filter(({ amount }) => amount > 0n);
  const writtenOff: Extract<AccountEvent, { type: 'CreditsExpired' }>[] = [];
  const reinstated: ComingBack['reinstated'] = [];
  for (const { grantId, amount } of shares) {
    const grant = state.grants.find((one) => one.grantId === grantId);
    if (grant === undefined) throw new Error(`no grant ${grantId}`);
    const isOver = isExpired(grant, nowMs);
    if (isOver && grant.remaining > 0n && !reinstated.some((one) => one.grantId === grantId)) {
      const rest = writeOff(grant, state, nowMs);
      if ('code' in rest) return rest;
      writtenOff.push(rest);
    }
    const endMs = isOver ? nowMs + LIMITS.comesBackForMs : grant.expiresAtMs;
    reinstated.push({ grantId, amount, expiresAt: endMs === null ? null : new Date(endMs).toISOString() });
  }
  if (
    Buffer.byteLength(JSON.stringify(reinstated, (_, one) => (typeof one === 'bigint' ? `${one}` : one))) >
    LIMITS.debitGrantsBytesMax
  )
    return commandRefused(
      'too_many_grants',
      `amount: it would come back to ${reinstated.length} grants: say a smaller one`,
    );
  const balance = writtenOff.reduce((left, { data }) => left - data.amount, state.balance as bigint);
  return { writtenOff, balance, owedLess: microUsd(owedLess), reinstated };
}

/** What was spent of each grant, and so can come back to it. What has expired or is revoked has its own way back. */
function roomOf({ grants, billing }: OpenAccount): Map<GrantId, bigint> {
  const room = new Map(
    grants.map(({ grantId, amount, remaining, expired }) => [grantId, amount - remaining - expired]),
  );
  for (const revocation of billing.revocations) {
    const { grantId } = revocation;
    room.set(grantId, (room.get(grantId) ?? 0n) - unrestored(revocation).taken);
  }
  return room;
}

function roomTaken(
  room: Map<GrantId, bigint>,
  { grantId, amount }: { readonly grantId: GrantId; readonly amount: bigint },
): GrantShare {
  const has = room.get(grantId) ?? 0n;
  const taken = amount < has ? amount : has;
  room.set(grantId, has - taken);
  return { grantId, amount: microUsd(taken) };
}

/** As much as was ever taken has been spent of some grant, is owed, or was taken by hand: so there is always room. */
function spread(grants: readonly Grant[], room: Map<GrantId, bigint>, amount: bigint): GrantShare[] {
  const shares: GrantShare[] = [];
  let left = amount;
  for (const { grantId } of grants) {
    if (left === 0n) return shares;
    const share = roomTaken(room, { grantId, amount: left });
    if (share.amount > 0n) shares.push(share);
    left -= share.amount;
  }
  if (left > 0n) throw new Error(`no grant has room for ${left} micro-USD that come back`);
  return shares;
}

const inReverse = (grants: readonly Grant[], nowMs: number): Grant[] => {
  const reversed = grants.toReversed();
  return [
    ...reversed.filter((grant) => !isExpired(grant, nowMs)),
    ...reversed.filter((grant) => isExpired(grant, nowMs)),
  ];
};

/** Not before each request that may still burn it has ended. */
function writeOff(
  { grantId, remaining, expiresAtMs }: Grant,
  { leases }: OpenAccount,
  nowMs: number,
): Extract<AccountEvent, { type: 'CreditsExpired' }> | CommandRefusal {
  const endMs = expiresAtMs ?? nowMs;
  const earlier = Object.values(leases).filter(
    ({ requestsFromMs }) => requestsFromMs === null || requestsFromMs < endMs,
  );
  const fromMs = Math.max(endMs, ...earlier.map((lease) => lease.expiresAtMs)) + LIMITS.expiryLateMsMin;
  if (fromMs > nowMs)
    return commandRefused(
      'not_written_off',
      `grant ${grantId} is over since ${new Date(endMs).toISOString()}, and requests from before that may still be under way: ` +
        `something can come back to it from ${new Date(fromMs).toISOString()} on`,
    );
  return {
    type: 'CreditsExpired',
    data: { grantId, amount: remaining, expiredAt: new Date(endMs).toISOString() },
  };
}

import type { AccountEvent, EventData } from '../../contracts/events.ts';
import type { GrantId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { Grant, OpenAccount } from './account-state.ts';
import { type CommandRefusal, commandRefused } from './commands.ts';
import { isExpired } from './grants.ts';
import { firstOf, type GrantShare, sumOf } from './shares-room.ts';

interface Taken {
  /** What no grant had covered that was meant to. */
  readonly uncovered: bigint;
  /** Who has paid at once of that, or more: the first has it back first. */
  readonly paidBy: readonly GrantShare[];
  /** What of which grants comes back, the first first. */
  readonly shares: readonly GrantShare[];
  /** The grant that all of it was revoked of; null where it was spent. */
  readonly revokedOf: GrantId | null;
}

interface ComingBack {
  /** What was left of grants that are over is written down before anything comes back to them. */
  readonly writtenOff: readonly AccountEvent[];
  /** The account's, after that. */
  readonly balance: bigint;
  readonly owedLess: MicroUsd;
  readonly setOff: GrantShare[];
  readonly reinstated: EventData<'GrantRestored'>['reinstated'];
}

/**
 * How what was taken comes back: first it lowers what is owed, whatever that is of, what no grant had covered before what had
 * been taken of grants, and of that the part that comes last. What others have filled meanwhile, and what a grant has no room
 * for any more because it has got as much in another's place, or because it was revoked, goes to the grants in the reverse of
 * the burn order, those that are over last; but for what some have paid at once, which goes back to them. A grant that is over has a new end then, a stated time from now.
 */
export function comingBack(state: OpenAccount, taken: Taken, nowMs: number): ComingBack | CommandRefusal {
  const ofUncovered = taken.uncovered < state.uncovered ? taken.uncovered : state.uncovered;
  const filled = taken.uncovered - ofUncovered;
  const { left, setOff } = withoutLast(taken.shares, state.uncovered - ofUncovered);
  const room = roomOf(state, taken);
  const own = left.map((share) => roomTaken(room, share));
  const payers = firstOf(taken.paidBy, filled).map((share) => roomTaken(room, share));
  const inPlace = inReverse(state.grants, nowMs);
  const shares = [
    ...payers,
    ...spread(inPlace, room, filled - sumOf(payers)),
    ...own,
    ...spread(inPlace, room, sumOf(left) - sumOf(own)),
  ].filter(({ amount }) => amount > 0n);
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
  const named = JSON.stringify([...setOff, ...reinstated], (_, one) => (typeof one === 'bigint' ? `${one}` : one));
  if (Buffer.byteLength(named) > LIMITS.debitGrantsBytesMax)
    return commandRefused(
      'too_many_grants',
      `amount: it would come back of ${setOff.length + reinstated.length} grants: say a smaller one`,
    );
  const balance = writtenOff.reduce((left, { data }) => left - data.amount, state.balance as bigint);
  return { writtenOff, balance, owedLess: microUsd(ofUncovered + sumOf(setOff)), setOff, reinstated };
}

/** So much of them as there is, from the last, and the others. */
function withoutLast(shares: readonly GrantShare[], amount: bigint) {
  const left: GrantShare[] = [];
  const setOff: GrantShare[] = [];
  let wanted = amount;
  for (const { grantId, amount: has } of shares.toReversed()) {
    const part = has < wanted ? has : wanted;
    wanted -= part;
    if (part > 0n) setOff.push({ grantId, amount: microUsd(part) });
    if (part < has) left.push({ grantId, amount: microUsd(has - part) });
  }
  return { left: left.reverse(), setOff };
}

/**
 * What can come back to each grant: what it gave, and neither has nor was written down as expired or revoked, spent or not.
 * More than that can be gone of one, for what had expired may be revoked, too. What comes back of what a grant held itself has
 * its place there.
 */
function roomOf({ grants, billing }: OpenAccount, { uncovered, shares, revokedOf }: Taken): Map<GrantId, bigint> {
  const room = new Map(
    grants.map(({ grantId, amount, remaining, expired }) => [grantId, amount - remaining - expired]),
  );
  const less = (grantId: GrantId, amount: bigint): void => void room.set(grantId, (room.get(grantId) ?? 0n) - amount);
  for (const { grantId, amount, restored } of billing.revocations) less(grantId, amount - restored);
  if (revokedOf !== null) less(revokedOf, -uncovered);
  for (const [grantId, left] of room) if (left < 0n) room.set(grantId, 0n);
  if (revokedOf !== null) less(revokedOf, -sumOf(shares));
  return room;
}

function roomTaken(room: Map<GrantId, bigint>, { grantId, amount }: GrantShare): GrantShare {
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
    const share = roomTaken(room, { grantId, amount: microUsd(left) });
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

/** What is left of a grant that is over: not before each request that may still burn it has ended. */
export function writeOff(
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

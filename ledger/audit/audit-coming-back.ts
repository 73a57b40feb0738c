import { LIMITS } from '../../contracts/limits.ts';
import { textOfShares } from './audit-debit.ts';
import { burnsBefore, type OwnShare } from './burn-own.ts';
import type { Unit } from './fault.ts';
import { type AccountBooks, compareAmount, type OwnStanding, tell } from './own-account.ts';
import type { ComeBackData } from './stored-event.ts';

/** What was taken once and is to come back now. */
export interface OwnReturn {
  readonly uncovered: bigint;
  /** In the order in which they come back. */
  readonly shares: readonly OwnShare[];
  /** Of a revocation, of which the shares are what the grant held: who has paid the rest at once; null of a debit. */
  readonly paidBy: readonly OwnShare[] | null;
  readonly at: string;
}

interface Back {
  readonly grantId: string;
  readonly amount: bigint;
  readonly expiresAt: string | null;
}

export const standingOf = ({ grants, revoked, uncovered }: AccountBooks): OwnStanding => ({
  owed: uncovered,
  grants: grants.map(({ grantId, amount, remaining, expired, held, expiresAtMs }) => {
    const place = amount - remaining - expired - held;
    return { grantId, expiresAtMs, place, placeLeft: place + held - (revoked.get(grantId) ?? 0n) };
  }),
});

type Told = (what: string, found: unknown, expected: unknown, unit?: Unit) => void;

/** Compares where an amount goes that comes back. */
export function compareReturn(before: OwnStanding, stated: ComeBackData, own: OwnReturn, told: Told): void {
  if (BigInt(stated.uncovered) !== own.uncovered)
    told('what of it no grant had covered', stated.uncovered, own.uncovered, 'micro-USD');
  const today = dueToday(before, own);
  const due = stated.setOff !== undefined || isDue(stated, today) ? today : dueBefore(before, own);
  if (BigInt(stated.owedLess) !== due.owedLess) told('what is owed less', stated.owedLess, due.owedLess, 'micro-USD');
  const [pays, paying] = [textOfShares(stated.setOff ?? []), textOfShares(due.setOff)];
  if (pays !== paying) told('what of it pays what is owed otherwise', pays, paying);
  const [found, expected] = [textOf(backsIn(stated)), textOf(due.backs)];
  if (found !== expected) told('what comes back', found, expected);
}

interface Due {
  readonly owedLess: bigint;
  readonly setOff: readonly OwnShare[];
  readonly backs: readonly Back[];
}

const isDue = (stated: ComeBackData, { owedLess, setOff, backs }: Due): boolean =>
  BigInt(stated.owedLess) === owedLess && setOff.length === 0 && textOf(backsIn(stated)) === textOf(backs);

/** Nothing comes back to grants while anything is owed: what was spent first pays that first. */
function dueToday({ owed, grants }: OwnStanding, own: OwnReturn): Due {
  const shares = own.shares.map((share) => ({ ...share }));
  const setOff: OwnShare[] = [];
  let owing = owed > own.uncovered ? owed - own.uncovered : 0n;
  for (let last = shares.pop(); last !== undefined; last = shares.pop()) {
    const pays = last.amount > owing ? owing : last.amount;
    owing -= pays;
    if (pays > 0n) setOff.push({ grantId: last.grantId, amount: pays });
    if (pays === last.amount) continue;
    shares.push({ grantId: last.grantId, amount: last.amount - pays });
    break;
  }
  const filled = own.uncovered > owed ? own.uncovered - owed : 0n;
  // What a grant held itself has its place there in any case.
  const [held] = own.paidBy === null ? [] : own.shares;
  const places = grants.map((grant) => {
    const least = held?.grantId === grant.grantId ? held.amount : 0n;
    return { ...grant, place: grant.placeLeft > least ? grant.placeLeft : least };
  });
  const owedLess = setOff.reduce((sum, { amount }) => sum + amount, own.uncovered - filled);
  return { owedLess, setOff, backs: backTo(places, filled, { ...own, shares }) };
}

/** As it was: what had been taken of grants paid nothing, and came back also to what was revoked. */
function dueBefore({ owed, grants }: OwnStanding, own: OwnReturn): Due {
  const owedLess = own.uncovered > owed ? owed : own.uncovered;
  return { owedLess, setOff: [], backs: backTo(grants, own.uncovered - owedLess, own) };
}

/** Goes on from what is stated, as far as it can be. */
export function takeReturn(books: AccountBooks, id: string, stated: ComeBackData, at: string): void {
  const backs = backsIn(stated);
  const sum = backs.reduce((all, { amount }) => all + amount, BigInt(stated.owedLess));
  compareAmount(books, `${id}: all that comes back`, stated.amount, sum);
  books.uncovered -= BigInt(stated.owedLess);
  for (const { grantId, amount, expiresAt } of backs) {
    const grant = books.grantOf.get(grantId);
    if (grant === undefined) continue;
    if (grant.expiresAtMs !== null && grant.expiresAtMs <= Date.parse(at) && grant.remaining > 0n)
      tell(books, `${id}: ${grantId} is over, and what was left of it is not written down`);
    grant.remaining = grant.remaining + amount > grant.amount ? grant.amount : grant.remaining + amount;
    grant.expiresAtMs = expiresAt === null ? null : Date.parse(expiresAt);
  }
  books.grants.sort(burnsBefore);
}

const backsIn = ({ reinstated }: ComeBackData): Back[] =>
  reinstated.map(({ grantId, amount, expiresAt }) => ({ grantId, amount: BigInt(amount), expiresAt }));

/** Every correction says why. */
export function tellUnreasoned(books: AccountBooks, id: string, { reason }: { readonly reason: string }): void {
  if (reason.trim() === '') tell(books, `${id}: without a reason`);
}

/**
 * What has filled a debt goes to who paid it at once, and else to the grants that burn last, those that are over behind all
 * others; before that each share has its place in its own grant kept, and after it what finds none there goes the same way.
 */
function backTo(grants: OwnStanding['grants'], filled: bigint, { shares, paidBy, at }: OwnReturn): Back[] {
  const place = new Map(grants.map((grant) => [grant.grantId, grant.place]));
  const kept: [string, bigint][] = [];
  let homeless = 0n;
  const takePlace = (grantId: string, wanted: bigint): bigint => {
    const free = place.get(grantId) ?? 0n;
    const got = wanted > free ? free : wanted;
    place.set(grantId, free - got);
    return got;
  };
  for (const { grantId, amount } of shares) {
    const got = takePlace(grantId, amount);
    kept.push([grantId, got]);
    homeless += amount - got;
  }
  const lastFirst = grants.toReversed().sort((a, b) => Number(isOver(a, at)) - Number(isOver(b, at)));
  const elsewhere = (amount: bigint): [string, bigint][] => {
    let left = amount;
    return lastFirst.map(({ grantId }) => {
      const got = takePlace(grantId, left);
      left -= got;
      return [grantId, got];
    });
  };
  const payers: [string, bigint][] = [];
  let unpaid = filled;
  let asked = filled;
  for (const { grantId, amount } of paidBy ?? []) {
    const share = amount > asked ? asked : amount;
    asked -= share;
    const got = takePlace(grantId, share);
    payers.push([grantId, got]);
    unpaid -= got;
  }
  const atEnd = new Date(Date.parse(at) + LIMITS.comesBackForMs).toISOString();
  return [...payers, ...elsewhere(unpaid), ...kept, ...elsewhere(homeless)]
    .filter(([, amount]) => amount > 0n)
    .map(([grantId, amount]) => {
      const grant = grants.find((one) => one.grantId === grantId);
      const own = grant?.expiresAtMs ?? null;
      const isNew = grant !== undefined && isOver(grant, at);
      return { grantId, amount, expiresAt: isNew ? atEnd : own === null ? null : new Date(own).toISOString() };
    });
}

const isOver = ({ expiresAtMs }: OwnStanding['grants'][number], at: string): boolean =>
  expiresAtMs !== null && expiresAtMs <= Date.parse(at);

const textOf = (backs: readonly Back[]): string =>
  backs
    .map(({ grantId, amount, expiresAt }) => `${grantId} ${amount} micro-USD until ${expiresAt ?? 'never'}`)
    .join(', ') || 'none';

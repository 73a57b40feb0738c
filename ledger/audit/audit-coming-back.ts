import { LIMITS } from '../../contracts/limits.ts';
import { burnsBefore } from './burn-own.ts';
import type { Unit } from './fault.ts';
import { type AccountBooks, compareAmount, type OwnStanding, tell } from './own-account.ts';
import type { ComeBackData } from './stored-event.ts';

/** What was taken once and is to come back now. */
export interface OwnReturn {
  readonly uncovered: bigint;
  /** In the order in which they come back. */
  readonly shares: readonly { readonly grantId: string; readonly amount: bigint }[];
  readonly at: string;
}

interface Back {
  readonly grantId: string;
  readonly amount: bigint;
  readonly expiresAt: string | null;
}

export const standingOf = ({ grants, uncovered }: AccountBooks): OwnStanding => ({
  owed: uncovered,
  grants: grants.map(({ grantId, amount, remaining, expired, held, expiresAtMs }) => ({
    ...{ grantId, expiresAtMs, place: amount - remaining - expired - held },
  })),
});

type Told = (what: string, found: unknown, expected: unknown, unit?: Unit) => void;

/** Compares where an amount goes that comes back. */
export function compareReturn(before: OwnStanding, stated: ComeBackData, own: OwnReturn, told: Told): void {
  const owedLess = own.uncovered > before.owed ? before.owed : own.uncovered;
  const due = backTo(before.grants, own.uncovered - owedLess, own);
  const [found, expected] = [textOf(backsIn(stated)), textOf(due)];
  if (BigInt(stated.uncovered) !== own.uncovered)
    told('what of it no grant had covered', stated.uncovered, own.uncovered, 'micro-USD');
  if (BigInt(stated.owedLess) !== owedLess) told('what is owed less', stated.owedLess, owedLess, 'micro-USD');
  if (found !== expected) told('what comes back', found, expected);
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
 * What has filled a debt since comes from the grants that burn last, those that are over behind all others; before that each
 * share has its place in its own grant kept, and after it what finds none there goes the same way.
 */
function backTo(grants: OwnStanding['grants'], filled: bigint, { shares, at }: OwnReturn): Back[] {
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
  const atEnd = new Date(Date.parse(at) + LIMITS.comesBackForMs).toISOString();
  return [...elsewhere(filled), ...kept, ...elsewhere(homeless)]
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

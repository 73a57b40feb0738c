import type { PaymentAttempt } from '../account/payments-state.ts';
import type { CarriedNames } from './stripe-answers.ts';

const HOUR_MS = 3_600_000;
/** Stripe forgets a key 24 hours after it was first used, which is not before the attempt began. */
export const KEY_KNOWN_MS = 23 * HOUR_MS;
/** How far Stripe's clock may be off ours. */
const CLOCKS_MS = HOUR_MS;
/** What was made so lately has its key to itself until whoever asks under that now has ended, however the clocks are off. */
export const KEY_TAKEN_MS = KEY_KNOWN_MS - 2 * CLOCKS_MS;
/** It is asked of as it begins: what was made is made then, if nothing is amiss. */
const AT_ONCE_MS = 2 * 60_000;
/** Looked through at once in search of one; where there are as many in an hour it is not known. */
const LISTED_MAX = 10_000;

/** What Stripe keeps with what it has of ours, so that it can be found without its key. */
export interface Names {
  readonly ledger: string;
  readonly account: string;
  readonly attempt: string;
  readonly kind: string;
}

interface Named {
  readonly metadata: CarriedNames;
}

/** In seconds, as Stripe has them, both ends within. */
interface Created {
  readonly gte: number;
  readonly lte: number;
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

type Listing<One> = (created: Created) => AsyncIterable<One>;

interface Sought<One> {
  readonly names: Names;
  readonly list: Listing<One>;
  readonly isIt: (one: One) => boolean;
}

/** Looked for where it is if all went well; then from the claim until its key was used last. @throws Error where it is not known */
export async function findMade<One extends Named>(
  { startedAtMs }: Pick<PaymentAttempt, 'startedAtMs'>,
  names: Names,
  list: Listing<One>,
  isIt = (one: One): boolean => isOf(one.metadata, names),
): Promise<One | null> {
  const sought = { names, list, isIt };
  const around = (beforeMs: number, afterMs: number): Promise<One | null> =>
    findWithin(sought, secondsOf({ fromMs: startedAtMs - beforeMs, toMs: startedAtMs + afterMs }));
  return (await around(AT_ONCE_MS, AT_ONCE_MS)) ?? around(CLOCKS_MS, KEY_KNOWN_MS + CLOCKS_MS);
}

/** Looked for throughout, as what may have been made long before it was claimed. @throws Error where it is not known */
export const findMadeBetween = <One extends Named>({ fromMs, toMs }: Span, sought: Sought<One>): Promise<One | null> =>
  findWithin(sought, secondsOf({ fromMs: fromMs - CLOCKS_MS, toMs: toMs + CLOCKS_MS }));

const secondsOf = ({ fromMs, toMs }: Span): Created => ({
  gte: Math.floor(fromMs / 1_000),
  lte: Math.ceil(toMs / 1_000),
});

/** In halves, the earlier one first, where there are too many. */
async function findWithin<One extends Named>(sought: Sought<One>, { gte, lte }: Created): Promise<One | null> {
  const { names, list, isIt } = sought;
  let looked = 0;
  for await (const one of list({ gte, lte })) {
    if (isIt(one)) return one;
    if (++looked < LISTED_MAX) continue;
    if (lte - gte <= HOUR_MS / 1_000)
      throw new Error(`attempt ${names.attempt} is not among ${LISTED_MAX} of an hour at Stripe`);
    const half = Math.floor((gte + lte) / 2);
    return (await findWithin(sought, { gte, lte: half })) ?? findWithin(sought, { gte: half + 1, lte });
  }
  return null;
}

/** Whether it is that attempt's. */
export const isOf = (carried: CarriedNames, { ledger, account, attempt }: Names): boolean =>
  carried.ledger === ledger && carried.account === account && carried.attempt === attempt;

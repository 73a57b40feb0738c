import type { PlainAttempt } from './plain-attempts.ts';
import { least, type PlainPart } from './plain-grants.ts';

/** What money that goes back, and comes back, does to credits. */

export interface PlainRevocation {
  readonly grant: string;
  readonly cause: string;
  readonly payment: string | null;
  readonly amount: bigint;
  /** What has not come back: what was owed for it, and what the grant had. */
  owed: bigint;
  taken: bigint;
  /** Back by hand, and not with the money. */
  given: bigint;
  /** Who paid what was not there, in turn. */
  readonly payers: readonly PlainPart[];
}

/** Only a provider need not say why. */
export const isUnsaid = ({ provider }: PlainAttempt, reason: string | undefined): boolean =>
  provider === 'manual' && reason === undefined;

/** Of whose credits some may come back: disputes that were won, refunds that were withdrawn, and what disputes had before they were lost. */
export function comesBackOf(attempt: PlainAttempt | undefined): string[] {
  const { disputes = {}, refunds = {} } = attempt ?? {};
  const won = Object.keys(disputes).filter((id) => disputes[id]?.outcome === 'won');
  return [...won, ...Object.keys(refunds).filter((id) => refunds[id] === 0n), ...Object.keys(disputes)];
}

/** By operators, for no money that went back; and it has not come back. */
export const revokedByHand = (revocations: Readonly<Record<string, PlainRevocation>>, of: string): bigint =>
  Object.values(revocations)
    .filter(({ grant, cause }) => grant === of && cause !== 'refund' && cause !== 'dispute')
    .reduce((all, { owed, taken }) => all + owed + taken, 0n);

/** Of what its provider calls so the last that is there; where nothing of the account was called so, it alone. */
export const toldAs = (there: Readonly<Record<string, unknown>>, name: string, isKnown: boolean): string => {
  const others = Object.keys(there).filter((id) => /^(_again(_\d+)?)?$/.test(id.slice(name.length)));
  return (isKnown ? others.filter((id) => id.startsWith(name)) : []).at(-1) ?? name;
};

/** Under which it stands: a provider's word for it may be another's; null where who writes it down by hand has to say another. */
export function idOf(name: string, reason: string | undefined, isKnown: (id: string) => boolean): string | null {
  if (!isKnown(name)) return name;
  return reason === undefined ? numbered(`${name}_again`, isKnown) : null;
}

/** The money that its refunds have, those that were not withdrawn, and its disputes, those that were not won. */
export const goneOf = ({ refunds, disputes }: PlainAttempt): bigint => {
  const disputed = Object.values(disputes).map(({ amount, outcome }) => (outcome === 'won' ? 0n : amount));
  return [...Object.values(refunds), ...disputed].reduce((all, amount) => all + amount, 0n);
};

/** The credits that these have bought, less what was given back by hand of what each that stands took last. */
export function creditsGone(
  { credits, price, refunds, disputes }: PlainAttempt,
  lastOf: (id: string) => PlainRevocation | undefined,
): bigint {
  const disputed = Object.entries(disputes).flatMap(([id, { amount, outcome }]) =>
    outcome === 'won' ? [] : [{ id, amount }],
  );
  const refunded = Object.entries(refunds).flatMap(([id, amount]) => (amount === 0n ? [] : [{ id, amount }]));
  const money = refunded.reduce((all, { amount }) => all + amount, 0n);
  const bought = disputed.reduce((all, { amount }) => all + (credits * amount) / price, (credits * money) / price);
  return [...disputed, ...refunded].reduce((left, { id }) => left - (lastOf(id)?.given ?? 0n), bought);
}

/** Of refunds alone, and that of one whose credits came back has come back, too. */
export function refundedOf(
  refunds: Readonly<Record<string, bigint>>,
  revocations: Readonly<Record<string, PlainRevocation>>,
): bigint {
  let gone = 0n;
  for (const [id, amount] of Object.entries(refunds)) {
    const revocation = revocations[id];
    const back = revocation === undefined ? 0n : revocation.amount - revocation.owed - revocation.taken;
    gone += revocation === undefined ? amount : amount - (amount * back) / revocation.amount;
  }
  return gone;
}

/** The name, or with the first number behind it from 2 on that makes it one that is not there. */
export function numbered(name: string, isThere: (id: string) => boolean, times = 1): string {
  const id = times === 1 ? name : `${name}_${times}`;
  return isThere(id) ? numbered(name, isThere, times + 1) : id;
}

/** Who is still to have something back, from the last. */
export function lastOf(payers: readonly PlainPart[], owed: bigint): PlainPart[] {
  let left = owed;
  const parts: PlainPart[] = [];
  for (const { grant, amount } of payers) {
    parts.unshift({ grant, amount: least(amount, left) });
    left -= parts[0]?.amount ?? 0n;
  }
  return parts;
}

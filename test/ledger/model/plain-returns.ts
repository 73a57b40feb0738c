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
  /** Who paid what was not there, in turn. */
  readonly payers: readonly PlainPart[];
}

/** Only a provider need not say why. */
export const isUnsaid = ({ provider }: PlainAttempt, reason: string | undefined): boolean =>
  provider === 'manual' && reason === undefined;

/** Disputes that were won, and refunds that were withdrawn. */
export function hereAgain(attempt: PlainAttempt | undefined): string[] {
  const { disputes = {}, refunds = {} } = attempt ?? {};
  const won = Object.keys(disputes).filter((id) => disputes[id]?.outcome === 'won');
  return [...won, ...Object.keys(refunds).filter((id) => refunds[id] === 0n)];
}

/** Of what its provider calls so the last that is there. */
export const lastTold = (refunds: Readonly<Record<string, bigint>>, name: string): string => {
  const others = Object.keys(refunds).filter((id) => /^_again(_\d+)?$/.test(id.slice(name.length)));
  const again = refunds[name] === undefined ? [] : others.filter((id) => id.startsWith(name));
  return again.at(-1) ?? name;
};

/** All that went back, and did. */
export const moneyOf = (refunds: Readonly<Record<string, bigint>>): bigint =>
  Object.values(refunds).reduce((all, amount) => all + amount, 0n);

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
